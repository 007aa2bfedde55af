//! Quantiles by nearest rank, and means.

/// The nearest-rank quantile of `sorted` values. `None` if there are none.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The quantiles 0, 0.01 .. 1. `None` if there are no values; an infinite quantile is `None`, too.
pub fn quantiles(sorted: &[f64]) -> Option<Vec<Option<f64>>> {
    // Three digits are enough for a figure.
    let short = |value: f64| value.is_finite().then(|| (value * 1e3).round() / 1e3);
    let at = |percent: u32| quantile(sorted, f64::from(percent) / 100.0).and_then(short);
    (!sorted.is_empty()).then(|| (0..=100).map(at).collect())
}

/// The mean; 0 if there are no values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    sum / f64::from(n.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_ranks_by_hand() {
        let values = [1.0, 2.0, 3.0, f64::INFINITY];
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|share| quantile(&values, share)), [1.0, 2.0, 3.0, f64::INFINITY].map(Some));
        let all = quantiles(&values).unwrap();
        assert_eq!((all.len(), all[0], all[75], all[76]), (101, Some(1.0), Some(3.0), None));
        assert_eq!((quantile(&[], 0.5), quantiles(&[])), (None, None));
        assert_eq!((mean([1.0, 2.0].into_iter()), mean(std::iter::empty())), (1.5, 0.0));
    }
}
