//! Who owns a page: an app, the system, or by a range of shared pages several of them.

use swaplab_experiment::apps::MOST_SHARED;
use swaplab_vocab::AppId;

/// In lists of owners, beside app ids: system processes.
pub const SYSTEM: AppId = AppId::MAX;

/// In lists of owners: the range of shared pages with this number. Below `SYSTEM`, and above any app.
pub fn shared_owner(number: usize) -> AppId {
    SYSTEM - 1 - number as AppId
}

/// The number of the range that `owner` stands for.
pub fn shared_number(owner: AppId) -> Option<usize> {
    let number = usize::from(SYSTEM).checked_sub(1 + usize::from(owner))?;
    (number < MOST_SHARED).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_owners_are_one_to_one() {
        let back = [0, 5, MOST_SHARED - 1].map(|number| shared_number(shared_owner(number)));
        assert_eq!(back, [Some(0), Some(5), Some(MOST_SHARED - 1)]);
        assert_eq!([0, 40_000, SYSTEM].map(shared_number), [None; 3]);
    }
}
