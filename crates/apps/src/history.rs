//! The history of launches by app, which the framework of A2S hands to the kernel (Kim et al. 2017,
//! Section 4.2).

use swaplab_vocab::AppId;

/// The launches of one app.
#[derive(Clone, Copy, Debug, Default)]
struct AppHistory {
    launches: u64,
    /// Number of launches of other apps between successive launches of this one, summed over all
    /// its launches.
    gaps: u64,
    /// The number of launches of any app before this app's last one.
    last: u64,
}

/// The launches of all apps so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    launches: u64,
    apps: Vec<AppHistory>,
}

impl History {
    pub fn launch(&mut self, app: AppId) {
        let at = usize::from(app);
        if self.apps.len() <= at {
            self.apps.resize(at + 1, AppHistory::default());
        }
        let app = &mut self.apps[at];
        if app.launches > 0 {
            app.gaps += self.launches - app.last - 1;
        }
        app.last = self.launches;
        app.launches += 1;
        self.launches += 1;
    }

    pub fn launches(&self, app: AppId) -> u64 {
        self.apps.get(usize::from(app)).map_or(0, |of| of.launches)
    }

    /// The average number of launches of other apps between two launches of `app`, including those
    /// since its last launch: (launches x average + launches since) / (launches + 1), as in the
    /// paper's example. `strict` weights the average by the number of gaps, which is one less than
    /// the number of launches. The result is 0 for an app that was never launched.
    pub fn current_average(&self, app: AppId, strict: bool) -> f64 {
        let Some(of) = self.apps.get(usize::from(app)).filter(|of| of.launches > 0) else { return 0.0 };
        let average = if of.launches > 1 { of.gaps as f64 / (of.launches - 1) as f64 } else { 0.0 };
        let since = (self.launches - of.last - 1) as f64;
        let weight = (of.launches - u64::from(strict)) as f64;
        (weight * average + since) / (weight + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_by_hand() {
        let mut history = History::default();
        // a b c a b b a: gaps of a 2, 2; of b 2, 0; one launch since b, three since c.
        [0, 1, 2, 0, 1, 1, 0].into_iter().for_each(|app| history.launch(app));
        assert_eq!((history.launches(0), history.launches(2), history.launches(9)), (3, 1, 0));
        assert_eq!(history.current_average(0, false), 3.0 * 2.0 / 4.0);
        assert_eq!(history.current_average(1, false), (3.0 * 1.0 + 1.0) / 4.0);
        assert_eq!(history.current_average(1, true), (2.0 * 1.0 + 1.0) / 3.0);
        assert_eq!((history.current_average(2, false), history.current_average(2, true)), (4.0 / 2.0, 4.0));
        assert_eq!(history.current_average(9, false), 0.0);
    }
}
