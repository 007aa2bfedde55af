//! A control group (version 2) an app, without limits: reclaim sees each app's lists, and A2S forbids swap-outs app by app.

use crate::plan::Plan;
use crate::proc;
use std::fs;
use std::path::{Path, PathBuf};
use swaplab_vocab::{BadInput, Result};

const ROOT: &str = "/sys/fs/cgroup";

pub struct Group {
    path: PathBuf,
    name: String,
}

/// Make the groups of the plan's apps, in their order, and of its system process.
pub fn make(plan: &Plan) -> Result<Vec<Group>> {
    write(&Path::new(ROOT).join("cgroup.subtree_control"), "+memory +cpu +io")?;
    for group in plan.processes().map(|(name, _)| of(name)) {
        fs::create_dir(&group.path).map_err(|error| BadInput::io(group.path.display().to_string(), error))?;
    }
    Ok(plan.apps.iter().map(|app| of(&app.name)).collect())
}

/// Put the calling process into its app's group.
pub fn join(name: &str) -> Result<()> {
    write(&of(name).path.join("cgroup.procs"), "0")
}

fn of(name: &str) -> Group {
    Group { path: Path::new(ROOT).join(format!("app-{name}")), name: format!("/app-{name}") }
}

impl Group {
    /// Whether reclaim may swap the group's pages out. Pages that are out stay out.
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

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| BadInput::io(path.display().to_string(), error))
}
