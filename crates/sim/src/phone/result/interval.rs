//! Confidence intervals of 95 % by the percentile bootstrap. Users are drawn with all their
//! launches: launches of one user are not independent, so intervals from single launches would be
//! too narrow.

use swaplab_trace::synth::Draw;

const RESAMPLES: usize = 500;

/// The lower and the upper bound.
pub type Interval = [f64; 2];

/// Intervals of mean, median and 95th percentile (nearest rank) of the pooled values. `None` if
/// fewer than two users have values.
pub fn pooled(by_user: &[Vec<f64>]) -> Option<[Interval; 3]> {
    if by_user.iter().filter(|values| !values.is_empty()).count() < 2 {
        return None;
    }
    let mut sorted: Vec<(f64, usize)> =
        by_user.iter().enumerate().flat_map(|(user, values)| values.iter().map(move |v| (*v, user))).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sums: Vec<f64> = by_user.iter().map(|values| values.iter().sum()).collect();
    let mut drawn: [Vec<f64>; 3] = Default::default();
    resamples(by_user.len(), |times| {
        let total: usize = by_user.iter().zip(times).map(|(values, n)| values.len() * n).sum();
        if total == 0 {
            return;
        }
        drawn[0].push(sums.iter().zip(times).map(|(sum, n)| sum * *n as f64).sum::<f64>() / total as f64);
        let (mut ranks, mut seen) = ([(0.5, 1), (0.95, 2)].iter().peekable(), 0);
        for (value, user) in &sorted {
            seen += times[*user];
            while let Some((_, at)) = ranks.next_if(|(share, _)| seen >= (share * total as f64).ceil() as usize) {
                drawn[*at].push(*value);
            }
        }
    });
    Some(drawn.map(ends))
}

/// The interval of the mean of one value per user. `None` for fewer than two users.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let mut drawn = Vec::new();
    resamples(values.len(), |times| drawn.push(values.iter().zip(times).map(|(v, n)| v * *n as f64).sum::<f64>() / values.len() as f64));
    (values.len() > 1).then(|| ends(drawn))
}

/// Call `each` with the number of times that every user is drawn, for each resample. The draws are
/// the same in every run.
fn resamples(users: usize, mut each: impl FnMut(&[usize])) {
    let mut draw = Draw::new(0);
    for _ in 0..RESAMPLES {
        let mut times = vec![0; users];
        (0..users).for_each(|_| times[(draw.unit() * users as f64) as usize] += 1);
        each(&times);
    }
}

fn ends(mut drawn: Vec<f64>) -> Interval {
    drawn.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|share| drawn[((share * drawn.len() as f64).ceil() as usize).clamp(1, drawn.len()) - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_users_give_an_interval_of_no_width_and_one_user_gives_none() {
        assert_eq!(pooled(&[vec![2.0, 4.0], vec![4.0, 2.0]]), Some([[3.0, 3.0], [2.0, 2.0], [4.0, 4.0]]));
        assert_eq!(mean_interval(&[7.0, 7.0, 7.0]), Some([7.0, 7.0]));
        assert_eq!((pooled(&[vec![1.0, 2.0], vec![]]), mean_interval(&[1.0])), (None, None));
    }

    /// The nearest ranks of 2.5 % and 97.5 % of 500 values are 12.5 and 487.5, rounded up.
    #[test]
    fn an_interval_ends_at_the_nearest_ranks() {
        assert_eq!(ends((1..=500).rev().map(f64::from).collect()), [13.0, 488.0]);
        assert_eq!(ends(vec![7.0]), [7.0, 7.0]);
    }

    /// In a resample of two users, the mean is that of the first or of the second with 1/4 each,
    /// and the middle with 1/2.
    #[test]
    fn two_users_by_hand() {
        assert_eq!(mean_interval(&[0.0, 10.0]), Some([0.0, 10.0]));
        let [mean, p50, p95] = pooled(&[vec![0.0; 50], vec![10.0; 50]]).unwrap();
        assert_eq!((mean, p50, p95), ([0.0, 10.0], [0.0, 10.0], [0.0, 10.0]));
    }

    /// All values of a user are drawn together: the interval is that of users, not of values.
    #[test]
    fn values_of_a_user_are_drawn_together() {
        let users: Vec<Vec<f64>> = (0..10).map(|u| vec![f64::from(u); 100]).collect();
        let [mean, _, _] = pooled(&users).unwrap();
        let means: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(Some(mean), mean_interval(&means));
        // The standard error of ten users is 2.87 / sqrt(10) = 0.91.
        assert!((mean[0] - (4.5 - 1.96 * 0.91)).abs() < 0.3 && (mean[1] - (4.5 + 1.96 * 0.91)).abs() < 0.3, "{mean:?}");
    }
}
