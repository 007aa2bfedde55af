//! How sure a figure is: 95 % intervals by the percentile bootstrap, users drawn with all their launches. Launches of one user are not
//! independent, so drawing them one by one would promise too much.

use swaplab_trace::synth::Draw;

const RESAMPLES: usize = 500;

/// Low and high end.
pub type Interval = [f64; 2];

/// Intervals of mean, median and 95th percentile (nearest rank) of the pooled values; nothing for fewer than two users with any.
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

/// Interval of the mean of one value a user; nothing for fewer than two users.
pub fn of_mean(values: &[f64]) -> Option<Interval> {
    let mut drawn = Vec::new();
    resamples(values.len(), |times| drawn.push(values.iter().zip(times).map(|(v, n)| v * *n as f64).sum::<f64>() / values.len() as f64));
    (values.len() > 1).then(|| ends(drawn))
}

/// `each` hears how often every user is drawn. The same draws in every run.
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
    fn users_who_agree_leave_no_doubt_and_one_user_gives_no_interval() {
        assert_eq!(pooled(&[vec![2.0, 4.0], vec![4.0, 2.0]]), Some([[3.0, 3.0], [2.0, 2.0], [4.0, 4.0]]));
        assert_eq!(of_mean(&[7.0, 7.0, 7.0]), Some([7.0, 7.0]));
        assert_eq!((pooled(&[vec![1.0, 2.0], vec![]]), of_mean(&[1.0])), (None, None));
    }

    /// Of two users the mean of a draw is one's, the other's or the middle, a quarter, a quarter and a half of the time.
    #[test]
    fn two_users_by_hand() {
        assert_eq!(of_mean(&[0.0, 10.0]), Some([0.0, 10.0]));
        let [mean, p50, p95] = pooled(&[vec![0.0; 50], vec![10.0; 50]]).unwrap();
        assert_eq!((mean, p50, p95), ([0.0, 10.0], [0.0, 10.0], [0.0, 10.0]));
    }

    /// A thousand values of one user weigh as one draw: the interval is that of users, not of values.
    #[test]
    fn values_of_a_user_stay_together() {
        let users: Vec<Vec<f64>> = (0..10).map(|u| vec![f64::from(u); 100]).collect();
        let [mean, _, _] = pooled(&users).unwrap();
        let means: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(Some(mean), of_mean(&means));
        // Standard error of ten users: 2.87 / sqrt(10) = 0.91.
        assert!((mean[0] - (4.5 - 1.96 * 0.91)).abs() < 0.3 && (mean[1] - (4.5 + 1.96 * 0.91)).abs() < 0.3, "{mean:?}");
    }
}
