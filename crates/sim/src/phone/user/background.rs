//! Work of apps in the background. It is off by default: the published workloads do not describe
//! it, and it changed the numbers of resumes and swap-outs little.

use swaplab_trace::synth::Draw;

/// The state of an app in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    /// The time at which it left the foreground.
    pub since_ns: u64,
    /// The time since which it is known to be cached.
    pub cached_ns: Option<u64>,
    /// Whether its pages have been paged out since it became a cached app.
    pub compacted: bool,
    /// Whether its heap was collected since it left the foreground.
    pub collected: bool,
}

/// Draw `count` of the apps that are not in `taken`, and add them to it.
pub fn draw_apps(count: u64, taken: &mut [bool], draw: &mut Draw) {
    for _ in 0..count.min(taken.iter().filter(|taken| !**taken).count() as u64) {
        let free: Vec<usize> = (0..taken.len()).filter(|app| !taken[*app]).collect();
        taken[free[(draw.unit() * free.len() as f64) as usize]] = true;
    }
}

/// Whether a period of `every_ns` since `since` ends between two times. False if `every_ns` is 0.
pub fn due(every_ns: u64, since: u64, from: u64, to: u64) -> bool {
    every_ns > 0 && to > since && (to - since) / every_ns > from.saturating_sub(since) / every_ns
}

#[cfg(test)]
mod tests {
    use super::{draw_apps, due};
    use swaplab_trace::synth::Draw;

    #[test]
    fn apps_are_drawn_once() {
        let mut taken = vec![false, true, false, false];
        draw_apps(2, &mut taken, &mut Draw::new(1));
        assert_eq!((taken[1], taken.iter().filter(|taken| **taken).count()), (true, 3));
        draw_apps(9, &mut taken, &mut Draw::new(1));
        assert_eq!(taken, [true; 4]);
    }

    #[test]
    fn periods_begin_when_the_app_leaves_the_foreground() {
        let s = |s: u64| s * 1_000_000_000;
        let due_at = |from, to| due(s(30), s(100), s(from), s(to));
        assert!(!due_at(100, 129) && due_at(100, 130) && !due_at(130, 159) && due_at(131, 250));
        assert!(!due_at(90, 100) && !due(0, 0, 0, s(9)));
    }
}
