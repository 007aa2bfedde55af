//! A policy behind the C interface, as the runner sees it.

use std::ffi::c_void;
use std::ptr::null_mut;
use swaplab_plugin::abi::{self, Host, PolicyTable, Text, NO_PAGE};
use swaplab_policy::{Entry, Factory, PageView, Policy, Setup};
use swaplab_vocab::{BadInput, Op, PageId, Params, Result};

pub struct LoadedFactory {
    /// The policy's key, which is its file and name, and its parameters in the table's order.
    pub entry: &'static Entry,
    pub table: &'static PolicyTable,
}

impl Factory for LoadedFactory {
    fn build(&self, setup: &Setup, params: &Params) -> Result<Box<dyn Policy>> {
        let mut policy = LoadedPolicy { table: self.table, state: null_mut(), failure: None };
        let setup = abi::Setup {
            pages: setup.pages,
            frames: setup.frames,
            swap_read_ns: setup.costs.swap_read_ns,
            swap_write_ns: setup.costs.swap_write_ns,
            file_read_ns: setup.costs.file_read_ns,
            file_write_ns: setup.costs.file_write_ns,
            seed: setup.seed,
        };
        let values: Vec<Text> = self.entry.parameters.iter().map(|parameter| Text::of(params.text(parameter.name))).collect();
        let build = self.table.build;
        // SAFETY: all that is given lives for the call, and there are as many values as parameters.
        let state = policy.call(None, |host| unsafe { build(&setup, values.as_ptr(), host) });
        policy.state = state;
        match policy.failure.take() {
            Some(why) => Err(BadInput::new(self.entry.key, why, "a policy that can be built")),
            None if state.is_null() => Err(BadInput::new(self.entry.key, "built nothing", "a policy")),
            None => Ok(Box::new(policy)),
        }
    }
}

/// A policy of a library: its functions, and its state behind a pointer.
pub struct LoadedPolicy {
    table: &'static PolicyTable,
    /// What the plugin's `build` returned; null before that, and if it failed.
    state: *mut c_void,
    failure: Option<String>,
}

// SAFETY: the interface asks for a state that may move between threads (`Policy: Send` on the
// plugin's side), and a `LoadedPolicy` alone holds it.
unsafe impl Send for LoadedPolicy {}

/// The runner's side of one call, behind `Host::context`.
struct Call<'a> {
    /// Null where nothing may be released.
    pages: *mut PageView,
    failure: &'a mut Option<String>,
}

/// The state bits of the interface are those of the runner.
const _: () = {
    use abi::state;
    use swaplab_policy::{bits, CLASS_SHIFT};
    assert!(state::RESIDENT == bits::RESIDENT && state::DIRTY == bits::DIRTY && state::COPIED == bits::COPIED);
    assert!(state::CLASS_SHIFT == CLASS_SHIFT);
};

impl LoadedPolicy {
    /// Call the plugin with the pages that it may read. Without `pages` it has no page to read.
    #[inline]
    fn call<T>(&mut self, pages: Option<&PageView>, call: impl FnOnce(*mut Host) -> T) -> T {
        let states = pages.map_or(&[][..], PageView::states);
        self.with(null_mut(), states.as_ptr(), states.len(), call)
    }

    /// Call the plugin with pages that it may release.
    #[inline]
    fn call_to_release(&mut self, pages: &mut PageView, call: impl FnOnce(*mut Host)) {
        let (states, count) = (pages.states().as_ptr(), pages.len());
        self.with(pages, states, count, call);
    }

    #[inline]
    fn with<T>(&mut self, pages: *mut PageView, states: *const u8, count: usize, call: impl FnOnce(*mut Host) -> T) -> T {
        let mut context = Call { pages, failure: &mut self.failure };
        let mut host = Host { context: (&raw mut context).cast(), states, pages: count, release, fail };
        call(&mut host)
    }
}

/// # Safety
/// `host` is what [`LoadedPolicy::with`] made, during its call.
unsafe extern "C" fn release(host: *mut Host, page: u32) {
    // SAFETY: the caller's promise; the plugin runs on this thread alone and holds no reference
    // into either.
    let (host, call) = unsafe { (&mut *host, &mut *(*host).context.cast::<Call>()) };
    // SAFETY: null or the pages that `call_to_release` holds for as long as the call.
    let Some(pages) = (unsafe { call.pages.as_mut() }) else {
        call.failure.get_or_insert_with(|| format!("released page {page} where nothing may be released"));
        return;
    };
    if page as usize >= pages.len() || !pages.is_resident(page) {
        call.failure.get_or_insert_with(|| format!("released page {page}, which is not in memory"));
        return;
    }
    pages.release(page);
    host.states = pages.states().as_ptr();
}

/// # Safety
/// As `release`; `why` lives for the call.
unsafe extern "C" fn fail(host: *mut Host, why: Text) {
    // SAFETY: the caller's promise.
    let (call, why) = unsafe { (&mut *(*host).context.cast::<Call>(), why.bytes()) };
    let why = String::from_utf8_lossy(why).split_whitespace().collect::<Vec<_>>().join(" ");
    call.failure.get_or_insert(why);
}

// After a failure the plugin is not called again, because the replay is about to end.
impl Policy for LoadedPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, op: Op, pages: &PageView) {
        let (state, touch) = (self.state, self.table.touch);
        if self.failure.is_none() {
            // SAFETY: `state` came from this table's `build`; so for every call below.
            self.call(Some(pages), |host| unsafe { touch(state, page, op as u32, host) });
        }
    }

    fn miss(&mut self, page: PageId, op: Op, pages: &PageView) {
        let (state, miss) = (self.state, self.table.miss);
        if self.failure.is_none() {
            // SAFETY: as in `touch`.
            self.call(Some(pages), |host| unsafe { miss(state, page, op as u32, host) });
        }
    }

    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let (state, reclaim) = (self.state, self.table.reclaim);
        let (page, op) = incoming.unwrap_or((NO_PAGE, Op::Read));
        let free = pages.free();
        if self.failure.is_none() {
            // SAFETY: as in `touch`.
            self.call_to_release(pages, |host| unsafe { reclaim(state, page, op as u32, host) });
            if pages.free() == free {
                self.failure.get_or_insert_with(|| "released no page when asked for one".into());
            }
        }
    }

    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView) {
        let (state, insert) = (self.state, self.table.insert);
        if self.failure.is_none() {
            // SAFETY: as in `touch`.
            self.call_to_release(pages, |host| unsafe { insert(state, page, op as u32, host) });
        }
    }

    fn forget(&mut self, page: PageId) {
        let (state, forget) = (self.state, self.table.forget);
        if self.failure.is_none() {
            // SAFETY: as in `touch`.
            self.call(None, |host| unsafe { forget(state, page, host) });
        }
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The interface has no function that checks a plugin's own state, and each release is checked
    /// when it is made. So only a failure is reported.
    fn check(&self, _: &PageView) -> std::result::Result<(), String> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

impl Drop for LoadedPolicy {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: from this table's `build`, and not used after this.
            unsafe { (self.table.destroy)(self.state) };
        }
    }
}
