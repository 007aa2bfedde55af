//! The used part of QEMU's plugin API, versions 1 and 2, declared by hand and looked up in the
//! running QEMU at run time. It cannot be linked, because this crate is also part of the Python
//! extension, which is not loaded by QEMU.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};

pub type PluginId = u64;
pub type MemoryInfo = u32;

/// Opaque types for translated blocks and instructions.
#[repr(C)]
pub struct Block {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Instruction {
    _private: [u8; 0],
}

/// The first members of `qemu_info_t`.
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
}

/// Flag for callbacks that do not access registers.
pub const NO_REGISTERS: c_int = 0;
/// Flags for callbacks at loads (1) and stores (2).
pub const READS_AND_WRITES: c_int = 3;

pub type OnTranslation = extern "C" fn(PluginId, *mut Block);
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
pub type OnAccess = extern "C" fn(c_uint, MemoryInfo, u64, *mut c_void);
pub type OnCall = extern "C" fn(PluginId, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type OnReturn = extern "C" fn(PluginId, c_uint, i64, i64);
pub type OnExit = extern "C" fn(PluginId, *mut c_void);

macro_rules! api {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the QEMU that has loaded the plugin.
        #[derive(Clone, Copy)]
        pub struct Api {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// Look up all functions. The error is the name of the first missing one.
            pub fn load() -> Result<Api, &'static str> {
                Ok(Api {
                    $($field: {
                        let address = symbol($symbol).ok_or($symbol)?;
                        // SAFETY: QEMU's function of this name has this type in versions 1 and 2 of
                        // the plugin API.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address) }
                    },)*
                })
            }
        }
    };
}

api! {
    on_translation = "qemu_plugin_register_vcpu_tb_trans_cb": fn(PluginId, OnTranslation);
    on_execution = "qemu_plugin_register_vcpu_tb_exec_cb": fn(*mut Block, OnExecution, c_int, *mut c_void);
    on_access = "qemu_plugin_register_vcpu_mem_cb": fn(*mut Instruction, OnAccess, c_int, c_int, *mut c_void);
    on_call = "qemu_plugin_register_vcpu_syscall_cb": fn(PluginId, OnCall);
    on_return = "qemu_plugin_register_vcpu_syscall_ret_cb": fn(PluginId, OnReturn);
    on_exit = "qemu_plugin_register_atexit_cb": fn(PluginId, OnExit, *mut c_void);
    block_instructions = "qemu_plugin_tb_n_insns": fn(*const Block) -> usize;
    block_instruction = "qemu_plugin_tb_get_insn": fn(*const Block, usize) -> *mut Instruction;
    instruction_address = "qemu_plugin_insn_vaddr": fn(*const Instruction) -> u64;
    instruction_host_address = "qemu_plugin_insn_haddr": fn(*const Instruction) -> *mut c_void;
    instruction_size = "qemu_plugin_insn_size": fn(*const Instruction) -> usize;
    is_store = "qemu_plugin_mem_is_store": fn(MemoryInfo) -> bool;
    size_shift = "qemu_plugin_mem_size_shift": fn(MemoryInfo) -> c_uint;
}

/// Whether the QEMU that has loaded the plugin is 9.0 or later, whose API has scoreboards.
pub fn has_version_2() -> bool {
    symbol("qemu_plugin_scoreboard_new").is_some()
}

fn symbol(name: &str) -> Option<*mut c_void> {
    let name = std::ffi::CString::new(name).expect("names above hold no NUL");
    // SAFETY: a look-up by a C string among the symbols already loaded.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Copy a C string of QEMU.
///
/// # Safety
/// `text` is null or points to a NUL-terminated string that stays for the call.
pub unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
