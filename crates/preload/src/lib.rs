//! The library that `swaplab exec` and the world `memory` preload. The program's heap and private
//! anonymous mappings become managed memory of a [`Pager`](swaplab_pager::Pager), which is created
//! before `main`. Environment variables configure it. Child processes inherit them, so a program
//! that the managed program starts is managed too, with a separate budget.

#[macro_use]
mod next;
#[macro_use]
mod raw;
mod calls;
mod content;
mod dispatch;
mod early;
mod exec;
mod faults;
mod fork;
mod fork_calls;
mod heap;
mod limits;
mod loader;
mod locks;
mod maps;
mod objects;
mod own;
mod pins;
mod rights;
mod selector;
mod settings;
mod signals;
mod state;

use state::{not_paged, pager, serve_all, set_pager, KEPT_STACK, OWN_ALLOCATOR};
use std::sync::atomic::Ordering;
use swaplab_pager::reservations::Mapping;
use swaplab_pager::Pager;

/// Priority 101: before every other constructor of this library.
#[used]
#[link_section = ".init_array.00101"]
static AT_START: extern "C" fn() = start;
#[used]
#[link_section = ".fini_array"]
static AT_END: extern "C" fn() = end;

extern "C" fn start() {
    let reservations = early::reservations();
    match settings::start_pager() {
        Ok(Some(pager)) => {
            fork::register();
            heap::take_small_arenas();
            set_pager(pager);
            dispatch::start();
            manage_early(&reservations);
        }
        Ok(None) => (),
        Err(missing) => not_paged(&missing),
    }
    serve_all();
}

/// Manage what the program's own allocator has reserved.
fn manage_early(reservations: &[Mapping]) {
    let managed = pager().is_some_and(|pager| early::manage(pager, reservations));
    KEPT_STACK.store(managed && Pager::keep_a_stack(), Ordering::Relaxed);
    OWN_ALLOCATOR.store(managed, Ordering::Relaxed);
}

extern "C" fn end() {
    if let Some(pager) = pager() {
        pager.finish();
    }
}
