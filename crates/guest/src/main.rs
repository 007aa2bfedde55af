//! The program in the guest of the world `vm`. As process 1 it runs a plan (`/plan.json`, which the
//! host makes) and turns the machine off. It also starts itself with a role, as an app or the
//! system process. It is statically linked, so that the guest needs no C library and no shell.
//!
//! It writes records to the console, each as one line of JSON after [`report::RECORD_PREFIX`]. All
//! other lines are the kernel's.

mod app;
mod cached;
mod cgroup;
mod compact;
mod counters;
mod direct_reclaim;
mod killer;
mod limited;
mod phone;
mod plan;
mod proc;
mod report;
mod sample;
mod setup;
mod sys;
mod trace;
mod visit;
mod watchdog;

use plan::Plan;
use report::Record;
use swaplab_vocab::{BadInput, Result};

const PLAN: &str = "/plan.json";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // Process 1 has no role. Its arguments are those words of the kernel's command line that the
    // kernel does not know.
    if std::process::id() != 1 {
        if let Err(error) = app::run(&arguments[1..]) {
            eprintln!("swaplab-guest: {error}");
            std::process::exit(2);
        }
        return;
    }
    setup::mounts();
    report::end(read_plan().and_then(|plan| run(&plan)))
}

fn read_plan() -> Result<Plan> {
    let text = std::fs::read(PLAN).map_err(|error| BadInput::io(PLAN, error))?;
    serde_json::from_slice(&text).map_err(|error| BadInput::new(PLAN, error.to_string(), "a plan of the same swaplab version"))
}

fn run(plan: &Plan) -> Result<()> {
    watchdog::start(plan.virtual_limit_ns);
    setup::modules(plan)?;
    // Configfs may be one of the modules.
    setup::mounts();
    setup::directories(plan)?;
    setup::settings(&plan.settings)?;
    setup::partitions(plan)?;
    setup::file_system(plan)?;
    setup::swap(plan)?;
    let groups = cgroup::make(plan)?;
    sys::lock_memory()?;
    setup::settle();
    report::write(&Record::started(plan)?);
    visit::run(plan, groups)
}
