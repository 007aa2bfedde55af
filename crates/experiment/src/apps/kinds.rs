//! The included kinds of apps and the papers' workloads, which `workload.apps.kinds` may name.

use super::size::{size, AppSize};

/// Defaults of the kinds that have a key in `workload.apps` (assumed).
pub static OWN: [(&str, AppSize); 4] = [
    ("light", size(20.0, 18.0, 25.0, 400.0, 80.0)),
    ("medium", size(34.0, 28.0, 30.0, 600.0, 120.0)),
    ("heavy", size(60.0, 45.0, 35.0, 1000.0, 200.0)),
    ("game", size(90.0, 50.0, 50.0, 2500.0, 300.0)),
];

/// DR.Swap's categories (Zhong et al. 2016, Table III). File pages: the mean package size of the
/// category's five apps, assumed to be mapped completely. The other values are those of the most
/// similar kind (assumed): heavy for browsers and social networks, game for gaming, medium for the
/// others.
pub static CATEGORIES: [(&str, AppSize); 6] = [
    ("browser", size(60.0, 49.0, 35.0, 1000.0, 200.0)),
    ("gaming", size(90.0, 51.2, 50.0, 2500.0, 300.0)),
    ("multimedia", size(34.0, 28.2, 30.0, 600.0, 120.0)),
    ("news", size(34.0, 14.7, 30.0, 600.0, 120.0)),
    ("shopping", size(34.0, 53.1, 30.0, 600.0, 120.0)),
    ("social", size(60.0, 44.2, 35.0, 1000.0, 200.0)),
];

const TABLE_III: &str = "DR.Swap (Zhong et al. 2016), Table III";
const TABLE_1: &str = "Kim and Bahn 2019, Table 1; each app given a kind by what it is (assumed)";

/// Workloads of five apps each: name, kinds of the apps, source. The workload of a single category
/// is just its name, because the list of kinds repeats.
pub static WORKLOADS: [(&str, &str, &str); 6] = [
    // Chrome, Flipboard, TTPod, Instagram, Angry Birds.
    ("mix1", "browser news multimedia social gaming", TABLE_III),
    // Firefox, BBC News, Facebook, Temple Run, Amazon.
    ("mix2", "browser news social gaming shopping", TABLE_III),
    ("scenario1", "gaming gaming light gaming gaming", TABLE_1),
    ("scenario2", "news browser news social browser", TABLE_1),
    ("scenario3", "social social heavy light multimedia", TABLE_1),
    ("scenario4", "gaming gaming gaming gaming gaming", TABLE_1),
];

/// A row of `swaplab list apps`.
pub struct AppListRow {
    pub key: &'static str,
    pub what: String,
    pub source: &'static str,
}

/// Every kind and every workload.
pub fn known() -> Vec<AppListRow> {
    let kind = |source: &'static str| {
        move |(key, of): &(&'static str, AppSize)| {
            let (sizes, times) = ((of.anon.0, of.file.0, of.graphics.0), (of.cold.0, of.resume.0));
            let what = format!(
                "kind: {} MiB anonymous, {} of files, {} of graphics; starts in {} ms, resumes in {} ms",
                sizes.0, sizes.1, sizes.2, times.0, times.1
            );
            AppListRow { key, what, source }
        }
    };
    let own = OWN.iter().map(kind("assumed"));
    let categories = CATEGORIES.iter().map(kind("files: mean package of DR.Swap (Zhong et al. 2016), Table III; the rest assumed"));
    let workloads = WORKLOADS.iter().map(|(key, kinds, source)| AppListRow { key, what: format!("workload: {kinds}"), source });
    own.chain(categories).chain(workloads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apps::AppModels;

    #[test]
    fn a_workload_expands_to_its_five_apps() {
        let kinds = |text: &str| {
            let model = AppModels { kinds: text.into(), ..AppModels::default() };
            model.check("test").map(|()| model.kinds().map(|of| of.file.0).collect::<Vec<_>>())
        };
        // Browser, news, multimedia, social, gaming; then a light app.
        assert_eq!(kinds("mix1 light").unwrap(), [49.0, 14.7, 28.2, 44.2, 51.2, 18.0]);
        assert_eq!(kinds("mix2").unwrap(), [49.0, 14.7, 44.2, 51.2, 53.1]);
        assert!(kinds("mix3").unwrap_err().to_string().contains("did you mean"));
        for (name, _, _) in &WORKLOADS {
            assert_eq!(kinds(name).unwrap().len(), 5, "{name}");
        }
        // A model of one's own may have the name of a workload.
        let mut model = AppModels { kinds: "mix1".into(), ..AppModels::default() };
        model.models.insert("mix1".into(), size(1.0, 2.0, 3.0, 4.0, 5.0));
        assert_eq!(model.kinds().count(), 1);
    }

    /// The mean package of each category of Table III.
    #[test]
    fn categories_have_the_mean_package() {
        let packages = [
            ("browser", [84.53, 38.93, 59.84, 36.91, 24.81]),
            ("news", [13.28, 12.37, 18.18, 13.29, 16.30]),
            ("multimedia", [38.42, 27.82, 23.94, 18.93, 31.77]),
            ("social", [99.14, 24.38, 56.14, 19.16, 22.41]),
            ("gaming", [34.84, 25.32, 107.0, 61.84, 26.93]),
            ("shopping", [85.45, 116.0, 26.02, 20.54, 17.54]),
        ];
        for (name, sizes) in packages {
            let of = &CATEGORIES.iter().find(|(key, _)| *key == name).unwrap().1;
            assert!((of.file.0 - sizes.iter().sum::<f64>() / 5.0).abs() < 0.051, "{name}: {}", of.file.0);
        }
    }
}
