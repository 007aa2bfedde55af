//! What apps do while they are not in front. All of it is off by default: none of it is published with the workloads, and it moved
//! resumes and swap-out little.

/// What is known of an app in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    /// When it left the front.
    pub since_ns: u64,
    /// Whether it has been paged out as a cached app.
    pub compacted: bool,
}

/// Whether a period of `every_ns` since `since` ends between two times; a period of no length never does.
pub fn due(every_ns: u64, since: u64, from: u64, to: u64) -> bool {
    every_ns > 0 && to > since && (to - since) / every_ns > from.saturating_sub(since) / every_ns
}

#[cfg(test)]
mod tests {
    use super::due;

    #[test]
    fn periods_since_the_app_left() {
        let s = |s: u64| s * 1_000_000_000;
        let due_at = |from, to| due(s(30), s(100), s(from), s(to));
        assert!(!due_at(100, 129) && due_at(100, 130) && !due_at(130, 159) && due_at(131, 250));
        assert!(!due_at(90, 100) && !due(0, 0, 0, s(9)));
    }
}
