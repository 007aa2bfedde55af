//! The owner of a page: an app, the system, or a range of shared pages, which several of them own.

use swaplab_experiment::apps::MOST_SHARED;
use swaplab_vocab::AppId;

/// The owner id of system processes. App ids are below it.
pub const SYSTEM: AppId = AppId::MAX;

/// The owner id of range `number` of shared pages: below `SYSTEM`, above all app ids.
pub fn shared_owner(number: usize) -> AppId {
    SYSTEM - 1 - number as AppId
}

/// The number of the range of shared pages whose owner id is `owner`. `None` for other owners.
pub fn shared_number(owner: AppId) -> Option<usize> {
    let number = usize::from(SYSTEM).checked_sub(1 + usize::from(owner))?;
    (number < MOST_SHARED).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_owners_are_one_to_one() {
        let numbers = [0, 5, MOST_SHARED - 1].map(|number| shared_number(shared_owner(number)));
        assert_eq!(numbers, [Some(0), Some(5), Some(MOST_SHARED - 1)]);
        assert_eq!([0, 40_000, SYSTEM].map(shared_number), [None; 3]);
    }
}
