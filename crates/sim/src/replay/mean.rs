//! Combines the rows of several seeds: figures are means. Seeds differ only with a policy that
//! draws at random.

use std::collections::BTreeMap;
use swaplab_experiment::document::{Energy, MediumUse, Memory, Paging, Row, SeedRow, Time, Wear};

/// The row of all seeds. Its groups of figures are means; all other values, such as gauges and
/// samples, are those of the first seed.
pub fn over_seeds(rows: Vec<Row>) -> Row {
    let mut row = rows[0].clone();
    if rows.len() == 1 {
        return row;
    }
    row.seeds = rows.len() as u64;
    row.memory = Memory::mean(&rows.iter().map(|row| &row.memory).collect::<Vec<_>>());
    row.paging = Paging::mean(&rows.iter().map(|row| &row.paging).collect::<Vec<_>>());
    row.time = Time::mean(&rows.iter().map(|row| &row.time).collect::<Vec<_>>());
    row.media = media(&rows);
    row.energy = energy(&rows);
    row.by_seed = rows.iter().map(|row| SeedRow { seed: row.seed, figures: figures(row) }).collect();
    row
}

fn figures(row: &Row) -> BTreeMap<String, f64> {
    let groups = [("memory", row.memory.figures()), ("paging", row.paging.figures()), ("time", row.time.figures())];
    groups
        .into_iter()
        .flat_map(|(group, figures)| figures.into_iter().map(move |(name, value)| (format!("{group}.{name}"), value)))
        .collect()
}

fn mean(values: impl Iterator<Item = f64>, n: usize) -> f64 {
    values.sum::<f64>() / n as f64
}

/// The mean of a figure; `None` if one of the seeds does not have it.
fn known_mean(values: impl Iterator<Item = Option<f64>>, n: usize) -> Option<f64> {
    values.sum::<Option<f64>>().map(|sum| sum / n as f64)
}

/// The use of media as means. A seed that did not use a medium counts as 0.
fn media(rows: &[Row]) -> BTreeMap<String, MediumUse> {
    let names: BTreeMap<&String, &MediumUse> = rows.iter().flat_map(|row| &row.media).collect();
    let n = rows.len();
    let of = |name: &String, any: &MediumUse| {
        let uses: Vec<&MediumUse> = rows.iter().filter_map(|row| row.media.get(name)).collect();
        let sum = |of: fn(&MediumUse) -> f64| mean(uses.iter().map(|used| of(used)), n);
        let known = |of: fn(&MediumUse) -> Option<f64>| known_mean(uses.iter().map(|used| of(used)), n);
        let worn = |of: fn(&Wear) -> Option<f64>| known_mean(uses.iter().map(|used| used.wear.as_ref().and_then(of)), n);
        let wear = any.wear.as_ref().map(|wear| Wear {
            cycles: worn(|wear| Some(wear.cycles)).unwrap_or(0.0),
            cycles_per_day: worn(|wear| wear.cycles_per_day),
            years_to_endurance: worn(|wear| wear.cycles_per_day).filter(|daily| *daily > 0.0).map(|d| wear.endurance_cycles / d / 365.25),
            ..wear.clone()
        });
        MediumUse {
            device: any.device.clone(),
            reads: sum(|used| used.reads),
            writes: sum(|used| used.writes),
            read_bytes: sum(|used| used.read_bytes),
            write_bytes: sum(|used| used.write_bytes),
            busy_ns: sum(|used| used.busy_ns),
            read_j: known(|used| used.read_j),
            write_j: known(|used| used.write_j),
            background_j: known(|used| used.background_j),
            wear,
        }
    };
    names.into_iter().map(|(name, any)| (name.clone(), of(name, any))).collect()
}

fn energy(rows: &[Row]) -> Option<Energy> {
    let all = rows.iter().map(|row| row.energy.as_ref()).collect::<Option<Vec<_>>>()?;
    let names: Vec<&String> = all.iter().flat_map(|energy| energy.parts_j.keys()).collect();
    // A seed that did not use a device spent 0 J on it. A device of unknown energy makes the mean
    // unknown.
    let part = |name: &String| known_mean(all.iter().map(|energy| energy.parts_j.get(name).copied().unwrap_or(Some(0.0))), rows.len());
    Some(Energy {
        total_j: known_mean(all.iter().map(|energy| energy.total_j), rows.len()),
        parts_j: names.into_iter().map(|name| (name.clone(), part(name))).collect(),
    })
}
