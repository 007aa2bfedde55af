//! Implements `Policy` by calling the functions of a loaded library.

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
        // SAFETY: all arguments live during the call, and there are as many values as parameters.
        let state = policy.call(None, |host| unsafe { build(&setup, values.as_ptr(), host) });
        policy.state = state;
        match policy.failure.take() {
            Some(why) => Err(BadInput::new(self.entry.key, why, "a policy that can be built")),
            None if state.is_null() => Err(BadInput::new(self.entry.key, "built nothing", "a policy")),
            None => Ok(Box::new(policy)),
        }
    }
}

/// A policy of a library: its functions, and a pointer to its state.
pub struct LoadedPolicy {
    table: &'static PolicyTable,
    /// The result of the plugin's `build`; null before that, and if it failed.
    state: *mut c_void,
    failure: Option<String>,
}

// SAFETY: the interface requires a state that may move between threads (`Policy: Send` in the
// plugin), and only a `LoadedPolicy` has the pointer to it.
unsafe impl Send for LoadedPolicy {}

/// The runner's data for one call. `Host::context` points to it.
struct Call<'a> {
    /// Null in calls that may not release a page.
    pages: *mut PageView,
    failure: &'a mut Option<String>,
}

/// Checks that the state bits of the interface are equal to those of the runner.
const _: () = {
    use abi::state;
    use swaplab_policy::{bits, CLASS_SHIFT};
    assert!(state::RESIDENT == bits::RESIDENT && state::DIRTY == bits::DIRTY && state::COPIED == bits::COPIED);
    assert!(state::CLASS_SHIFT == CLASS_SHIFT);
};

impl LoadedPolicy {
    /// Call the plugin with pages that it may read; without `pages`, with none.
    #[inline]
    fn call<T>(&mut self, pages: Option<&PageView>, call: impl FnOnce(*mut Host) -> T) -> T {
        let states = pages.map_or(&[][..], PageView::states);
        self.call_with_host(null_mut(), states.as_ptr(), states.len(), call)
    }

    /// Call the plugin with pages that it may release.
    #[inline]
    fn call_to_release(&mut self, pages: &mut PageView, call: impl FnOnce(*mut Host)) {
        let (states, count) = (pages.states().as_ptr(), pages.len());
        self.call_with_host(pages, states, count, call);
    }

    #[inline]
    fn call_with_host<T>(&mut self, pages: *mut PageView, states: *const u8, count: usize, call: impl FnOnce(*mut Host) -> T) -> T {
        let mut context = Call { pages, failure: &mut self.failure };
        let mut host = Host { context: (&raw mut context).cast(), states, pages: count, release, fail };
        call(&mut host)
    }
}

/// # Safety
/// `host` is what [`LoadedPolicy::call_with_host`] made, during its call.
unsafe extern "C" fn release(host: *mut Host, page: u32) {
    // SAFETY: guaranteed by the caller; the plugin runs on this thread only and has no reference to
    // either value.
    let (host, call) = unsafe { (&mut *host, &mut *(*host).context.cast::<Call>()) };
    // SAFETY: the pointer is null, or `call_to_release` has borrowed the pages for this call.
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
/// As for `release`; `why` lives during the call.
unsafe extern "C" fn fail(host: *mut Host, why: Text) {
    // SAFETY: guaranteed by the caller.
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
            // SAFETY: `state` came from this table's `build`. The same holds for every call below.
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
            // SAFETY: the state came from this table's `build`, and is not used after this.
            unsafe { (self.table.destroy)(self.state) };
        }
    }
}
