//! Control groups (version 2): one for all apps, and in it one for each app, whose stalls are
//! counted. The memory controller is enabled only where the plan needs it: for the group of all
//! apps if that has a limit, and for each app's group with `app_groups`, so that reclaim scans each
//! app's lists in turn and A2S can forbid swap-outs of single apps. Otherwise all pages are charged
//! to the root group, as on phones without a memory control group for each app. (A group of all
//! apps without a limit would lose the shadow entries of swap: their nodes belong to the root
//! group, and `count_shadow_nodes` of mm/workingset.c keeps only one node for each eight of that
//! group's own pages.)

use crate::plan::Plan;
use crate::proc;
use std::fs;
use std::path::{Path, PathBuf};
use swaplab_vocab::{BadInput, Result};

const ROOT: &str = "/sys/fs/cgroup";
/// The control group of all apps.
pub const APPS: &str = "/sys/fs/cgroup/apps";

/// An app's control group.
pub struct Group {
    path: PathBuf,
    /// The path, below the root, of the control group to which its pages are charged.
    memory: String,
}

/// Make the group of all apps with its limit, in it the groups of the plan's apps, and next to it
/// the group of the system process. Returns the apps' groups in the order of the plan.
pub fn make(plan: &Plan) -> Result<Vec<Group>> {
    let root = Path::new(ROOT);
    control(root, plan.app_groups || plan.group_bytes.is_some())?;
    directory(Path::new(APPS))?;
    control(Path::new(APPS), plan.app_groups)?;
    if let Some(bytes) = plan.group_bytes {
        write(&Path::new(APPS).join("memory.max"), &bytes.to_string())?;
    }
    if plan.system.is_some() {
        directory(&root.join(SYSTEM))?;
    }
    let groups: Vec<Group> = plan.apps.iter().map(|app| group_of(&app.name, plan)).collect();
    groups.iter().try_for_each(|group| directory(&group.path))?;
    Ok(groups)
}

const SYSTEM: &str = "system";

/// Enable controllers for the groups in `group`: that of the processor if this kernel has it, and
/// memory if `memory` is set. The controller of I/O would enable that of memory as well
/// (`depends_on` of `io_cgrp_subsys`, block/blk-cgroup.c), and stalls are counted without it.
fn control(group: &Path, memory: bool) -> Result<()> {
    let available = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    let cpu = available.split_whitespace().any(|name| name == "cpu").then_some("+cpu");
    let controllers: Vec<&str> = memory.then_some("+memory").into_iter().chain(cpu).collect();
    write(&group.join("cgroup.subtree_control"), &controllers.join(" "))
}

/// Move the calling process into its app's group or, without a name, into the system process's.
pub fn join(app: Option<&str>) -> Result<()> {
    write(&app.map_or(Path::new(ROOT).join(SYSTEM), path_of).join("cgroup.procs"), "0")
}

fn path_of(app: &str) -> PathBuf {
    Path::new(APPS).join(format!("app-{app}"))
}

fn group_of(app: &str, plan: &Plan) -> Group {
    let memory = match (plan.app_groups, plan.group_bytes) {
        (true, _) => format!("/apps/app-{app}"),
        (false, Some(_)) => "/apps".into(),
        (false, None) => "/".into(),
    };
    Group { path: path_of(app), memory }
}

impl Group {
    /// Allow or forbid reclaim to swap out the group's pages. Pages that are already swapped out
    /// stay there. Does nothing if the group has no memory controller, which it has only with
    /// `app_groups`.
    pub fn allow_swap(&self, allowed: bool) -> Result<()> {
        let file = self.path.join("memory.swap.max");
        // A kernel without swap, and a group without the memory controller, do not have the file.
        if file.exists() {
            write(&file, if allowed { "max" } else { "0" })?;
        }
        Ok(())
    }

    pub fn waits(&self) -> proc::Waits {
        proc::Waits::read(&self.path)
    }

    pub fn generations(&self) -> Vec<[i64; 3]> {
        proc::generations(&self.memory)
    }
}

fn directory(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(|error| BadInput::io(path.display().to_string(), error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| BadInput::io(path.display().to_string(), error))
}
