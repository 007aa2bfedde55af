//! App models from measured sizes.

use std::collections::BTreeMap;
use swaplab_experiment::apps::{kinds, AppSize};
use swaplab_experiment::Mib;
use swaplab_vocab::PAGE_SIZE;

pub fn mib(pages: u64) -> Mib {
    Mib((pages * PAGE_SIZE) as f64 / f64::from(1 << 20))
}

/// The kind that is nearest in size, for an app's graphics memory and times if they were not
/// measured.
pub fn assumed(anon: Mib, file: Mib) -> AppSize {
    let distance = |size: &AppSize| (size.anon.0 + size.file.0 - anon.0 - file.0).abs();
    let nearest = kinds::OWN.iter().map(|(_, size)| size).min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.expect("there are kinds").clone()
}

/// Models by name, and the names in their order. Names are made unique, and blanks, which separate
/// kinds, are replaced.
pub fn named<'a>(sizes: impl Iterator<Item = (&'a str, AppSize)>) -> (BTreeMap<String, AppSize>, Vec<String>) {
    let (mut models, mut names) = (BTreeMap::new(), Vec::new());
    for (name, size) in sizes {
        let base = name.split_whitespace().collect::<Vec<_>>().join("-");
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !models.contains_key(name)).expect("a name that is free");
        models.insert(name.clone(), size);
        names.push(name);
    }
    (models, names)
}
