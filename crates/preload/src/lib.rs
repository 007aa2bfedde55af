//! `swaplab run` preloads this library: the program's malloc and private anonymous mmap become managed memory of a
//! [`Pager`] that starts before `main`. Configured by environment variables, which children inherit, so that a program
//! run by the program is paged too, on a budget of its own.

#[macro_use]
mod next;
#[macro_use]
mod raw;
mod calls;
mod dispatch;
mod exec;
mod fork;
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

use state::{not_paged, pager, set_pager, READY};
use std::sync::atomic::Ordering;

/// Before every other constructor of this library.
#[used]
#[link_section = ".init_array.00101"]
static AT_START: extern "C" fn() = start;
#[used]
#[link_section = ".fini_array"]
static AT_END: extern "C" fn() = end;

extern "C" fn start() {
    match settings::start_pager() {
        Ok(Some(pager)) => {
            fork::register();
            heap::take_small_arenas();
            set_pager(pager);
            dispatch::start();
        }
        Ok(None) => (),
        Err(missing) => not_paged(&missing),
    }
    READY.store(true, Ordering::Release);
}

extern "C" fn end() {
    if let Some(pager) = pager() {
        pager.finish();
    }
}
