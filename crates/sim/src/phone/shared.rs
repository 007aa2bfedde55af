//! Pages that several apps own: the zygote's heap and the libraries it has loaded, a buffer that apps share.

use super::layout::{AppPages, SYSTEM};
use super::machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_apps::Owner;
use swaplab_vocab::{AppId, PageId};

/// One range of shared pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    pub name: String,
    pub anon_mib: f64,
    pub file_mib: f64,
    /// Share of the apps that map it, the most launched first.
    pub apps: f64,
    /// A system process such as the zygote owns it, too, so that it outlives all apps.
    #[serde(default)]
    pub system: bool,
}

/// Its pages, and who owns them.
pub struct SharedPages {
    pub pages: AppPages,
    pub members: Vec<bool>,
    pub system: bool,
}

/// In `owners`: the range with this number. Below `SYSTEM`, and above any app.
pub fn shared_owner(number: usize) -> AppId {
    SYSTEM - 1 - number as AppId
}

/// Most ranges there can be.
pub const MOST: usize = 64;

/// The number of the range that `owner` stands for.
pub fn shared_number(owner: AppId) -> Option<usize> {
    let number = usize::from(SYSTEM).checked_sub(1 + usize::from(owner))?;
    (number < MOST).then_some(number)
}

impl Machine {
    /// All that own `page` now.
    pub fn owners(&self, page: PageId) -> Vec<Owner> {
        match self.layout.owners[page as usize] {
            SYSTEM => vec![Owner::System],
            owner => match shared_number(owner) {
                None => vec![Owner::App(owner)],
                Some(number) => {
                    let shared = &self.layout.shared[number];
                    let alive = shared.members.iter().enumerate().filter(|(app, maps)| **maps && self.launcher.is_live(*app as AppId));
                    let apps = alive.map(|(app, _)| Owner::App(app as AppId));
                    shared.system.then_some(Owner::System).into_iter().chain(apps).collect()
                }
            },
        }
    }

    /// `app` has died: ranges that nobody owns any more.
    pub(super) fn orphaned(&self, app: AppId) -> Vec<AppId> {
        let shared = self.layout.shared.iter().enumerate().filter(|(_, shared)| shared.members[usize::from(app)]);
        let owners = shared.map(|(number, shared)| (shared_owner(number), shared.pages.anon.start));
        owners
            .filter(|(owner, first)| !self.layout.of(*owner).anon.is_empty() && self.owners(*first).is_empty())
            .map(|(owner, _)| owner)
            .collect()
    }

    /// Ranges that `app` maps.
    pub(super) fn mapped_by(&self, app: AppId) -> Vec<AppPages> {
        self.layout.shared.iter().filter(|shared| shared.members[usize::from(app)]).map(|shared| shared.pages.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_owners_are_one_to_one() {
        assert_eq!([0, 5, MOST - 1].map(|number| shared_number(shared_owner(number))), [Some(0), Some(5), Some(MOST - 1)]);
        assert_eq!([0, 40_000, SYSTEM].map(shared_number), [None; 3]);
    }
}
