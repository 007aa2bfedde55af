//! Control groups (version 2): one of all apps, and in it one an app, so that reclaim sees each app's lists and A2S forbids swap-outs app by
//! app. Only the group of all apps may have a limit.

use crate::plan::Plan;
use crate::proc;
use std::fs;
use std::path::{Path, PathBuf};
use swaplab_vocab::{BadInput, Result};

const ROOT: &str = "/sys/fs/cgroup";
/// The control group of all apps.
pub const APPS: &str = "/sys/fs/cgroup/apps";

pub struct Group {
    path: PathBuf,
    /// Its path below the root of the control groups.
    name: String,
}

/// Make the group of all apps with its limit, in it the groups of the plan's apps, and beside it the group of the system's process. Returns
/// the apps' groups in the order of the plan.
pub fn make(plan: &Plan) -> Result<Vec<Group>> {
    let root = Path::new(ROOT);
    control(root)?;
    directory(Path::new(APPS))?;
    control(Path::new(APPS))?;
    if let Some(bytes) = plan.group_bytes {
        write(&Path::new(APPS).join("memory.max"), &bytes.to_string())?;
    }
    if plan.system.is_some() {
        directory(&root.join(SYSTEM))?;
    }
    let groups: Vec<Group> = plan.apps.iter().map(|app| of(&app.name)).collect();
    groups.iter().try_for_each(|group| directory(&group.path))?;
    Ok(groups)
}

const SYSTEM: &str = "system";

/// Let the groups below `group` have their own memory, and their own processor time and I/O where this kernel has those controllers.
fn control(group: &Path) -> Result<()> {
    let known = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    let wanted = ["memory", "cpu", "io"].into_iter().filter(|name| *name == "memory" || known.split_whitespace().any(|word| word == *name));
    write(&group.join("cgroup.subtree_control"), &wanted.map(|name| format!("+{name}")).collect::<Vec<_>>().join(" "))
}

/// Put the calling process into its app's group, or, without a name, into the system's.
pub fn join(app: Option<&str>) -> Result<()> {
    write(&app.map_or(Path::new(ROOT).join(SYSTEM), |name| of(name).path).join("cgroup.procs"), "0")
}

fn of(name: &str) -> Group {
    Group { path: Path::new(APPS).join(format!("app-{name}")), name: format!("/apps/app-{name}") }
}

impl Group {
    /// Allow or forbid reclaim to swap the group's pages out. Pages that are swapped out already stay there.
    pub fn allow_swap(&self, allowed: bool) -> Result<()> {
        let file = self.path.join("memory.swap.max");
        // A kernel without swap has no such file, and then there is nothing to forbid.
        if file.exists() {
            write(&file, if allowed { "max" } else { "0" })?;
        }
        Ok(())
    }

    pub fn waits(&self) -> proc::Waits {
        proc::Waits::read(&self.path)
    }

    pub fn generations(&self) -> Vec<[i64; 3]> {
        proc::generations(&self.name)
    }
}

fn directory(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(|error| BadInput::io(path.display().to_string(), error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| BadInput::io(path.display().to_string(), error))
}
