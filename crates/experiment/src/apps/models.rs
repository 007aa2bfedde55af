//! How apps use memory: models of apps by kind, and shares of their pages.

use super::kinds::{CATEGORIES, OWN, WORKLOADS};
use super::size::{size, AppSize};
use super::writes::FileWrites;
use super::ASSUMED;
use crate::quantity::Mib;
use schemars::JsonSchema;
use serde::{de::Error, Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use swaplab_vocab::{unknown_key, BadInput};
use toml::Table;

/// Deserialize a kind of which some values may be missing; they get the kind's defaults.
fn given<'de, D: Deserializer<'de>>(from: D, of: fn(AppModels) -> AppSize) -> Result<AppSize, D::Error> {
    let values = serde_json::Map::deserialize(from)?;
    let mut merged = serde_json::to_value(of(AppModels::default())).map_err(D::Error::custom)?;
    merged.as_object_mut().into_iter().for_each(|defaults| defaults.extend(values.clone()));
    serde_json::from_value(merged).map_err(D::Error::custom)
}

macro_rules! with_defaults {
    ($($kind:ident),*) => { $(
        fn $kind<'de, D: Deserializer<'de>>(from: D) -> Result<AppSize, D::Error> {
            given(from, |models| models.$kind)
        }
    )* };
}
with_defaults!(light, medium, heavy, game, system);

/// Maximum number of ranges of shared pages.
pub const MOST_SHARED: usize = 64;

/// A range of pages that several apps share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    pub name: String,
    pub anon: Mib,
    pub file: Mib,
    /// Share of the apps that map it, starting with the most launched.
    pub apps: f64,
    /// Whether a system process such as the zygote maps it too, so that it remains when all apps
    /// have ended.
    #[serde(default)]
    pub system: bool,
}

/// How apps use memory: sizes by kind, and shares of their pages. All assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppModels {
    #[serde(deserialize_with = "light")]
    pub light: AppSize,
    #[serde(deserialize_with = "medium")]
    pub medium: AppSize,
    #[serde(deserialize_with = "heavy")]
    pub heavy: AppSize,
    #[serde(deserialize_with = "game")]
    pub game: AppSize,
    /// Custom kinds by name, in addition to the categories of DR.Swap (Zhong et al. 2016, Table
    /// III): browser, gaming, multimedia, news, shopping, social. File pages of a category are its
    /// mean package size; the other values are assumed.
    pub models: BTreeMap<String, AppSize>,
    /// Kinds of the apps, starting with the most launched app; the list repeats if there are more
    /// apps. Either the letters l, m, h and g, or names of kinds or workloads (`swaplab list apps`)
    /// separated by blanks. Default: the 36 apps of A2S' Table 1 (large), each with an assumed
    /// kind.
    pub kinds: String,
    /// Kind of each app by its name, for launches with names. If it is not empty, it must contain
    /// every launched app. If it is empty, an app has the kind in `models` with the app's name, if
    /// there is one.
    pub by_name: BTreeMap<String, String>,
    /// Sizes of apps are drawn uniformly between (1 - spread) and (1 + spread) times the size of
    /// the kind.
    pub spread: f64,
    /// Share of its graphics memory that an app keeps in the background.
    pub graphics_kept: f64,
    /// Share of anonymous pages that each resume uses. A cold start writes these before the app is
    /// ready, the others afterwards.
    pub resume_share: f64,
    /// Share of anonymous pages of which a resume uses each with `warm_probability`.
    pub warm_share: f64,
    pub warm_probability: f64,
    /// Share of file pages that each start reads. The others are read once, after a cold start.
    pub file_hot_share: f64,
    /// Share of a resume's anonymous references that write.
    pub write_share: f64,
    /// Share of anonymous pages that are either always or never written when they are used, drawn
    /// once per page by the write share. For the other pages it is drawn at each use. Measured: of
    /// the pages of the three bundled traces that are used in at least two of twenty equal windows
    /// and written at least once, 69 %, 74 % and 76 % are written in over 70 % of their windows.
    pub lasting_share: f64,
    /// Pages that several apps share, in addition to those of `system`.
    pub shared: Vec<Shared>,
    /// System processes, the zygote and shared libraries, which every launch uses.
    #[serde(deserialize_with = "system")]
    pub system: AppSize,
    pub system_hot_share: f64,
    pub system_warm_share: f64,
    pub system_warm_probability: f64,
    #[serde(skip_serializing_if = "FileWrites::is_off")]
    pub file_writes: FileWrites,
}

impl Default for AppModels {
    fn default() -> AppModels {
        AppModels {
            light: OWN[0].1.clone(),
            medium: OWN[1].1.clone(),
            heavy: OWN[2].1.clone(),
            game: OWN[3].1.clone(),
            models: BTreeMap::new(),
            kinds: "mlllmhlghlhhmlmghlmmglmmlgmlmggmmggl".into(),
            by_name: BTreeMap::new(),
            spread: 0.2,
            graphics_kept: 0.15,
            resume_share: 0.5,
            warm_share: 0.2,
            warm_probability: 0.3,
            file_hot_share: 0.35,
            write_share: 0.3,
            lasting_share: 0.73,
            shared: Vec::new(),
            system: size(320.0, 170.0, 45.0, 0.0, 0.0),
            system_hot_share: 0.25,
            system_warm_share: 0.35,
            system_warm_probability: 0.02,
            file_writes: FileWrites::default(),
        }
    }
}

impl AppModels {
    /// The models that a name in `workload.apps` stands for, the preset or the path of a fitted
    /// file, and the values that the file gives.
    pub fn read(name: &str) -> Result<(AppModels, Table), BadInput> {
        if name == ASSUMED {
            return Ok(Default::default());
        }
        if !Path::new(name).is_file() {
            let expected = format!("{ASSUMED}, or the path of a fitted file");
            return Err(BadInput::new("workload.apps", format!("'{name}'"), expected));
        }
        let text = std::fs::read_to_string(name).map_err(|e| BadInput::io(name, e))?;
        let models = AppModels::from_toml(name, &text)?;
        Ok((models, toml::from_str(&text).expect("models have been read from it")))
    }

    /// Read a fitted file, which contains only this table. `place` is its name in errors.
    fn from_toml(place: &str, text: &str) -> Result<AppModels, BadInput> {
        let models: AppModels = toml::from_str(text).map_err(|e| {
            let line =
                e.span().map_or(String::new(), |span| format!(": line {}", 1 + text[..span.start.min(text.len())].matches('\n').count()));
            let message = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
            BadInput::new(format!("{place}{line}"), message, "app models as `swaplab trace fit` writes them")
        })?;
        models.check(place)?;
        Ok(models)
    }

    fn named(&self, name: &str) -> Option<&AppSize> {
        let built_in = match name {
            "l" | "light" => Some(&self.light),
            "m" | "medium" => Some(&self.medium),
            "h" | "heavy" => Some(&self.heavy),
            "g" | "game" => Some(&self.game),
            _ => CATEGORIES.iter().find(|(category, _)| *category == name).map(|(_, size)| size),
        };
        self.models.get(name).or(built_in)
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let built_in = OWN.iter().chain(&CATEGORIES).map(|(name, _)| *name).chain(WORKLOADS.iter().map(|(name, ..)| *name));
        self.models.keys().map(String::as_str).chain(built_in)
    }

    /// The elements of `kinds`, letters or names of kinds, with each workload replaced by the kinds
    /// of its apps.
    fn parts(&self) -> Vec<&str> {
        let letters = !self.kinds.contains(' ') && self.kinds.chars().all(|c| "lmhg".contains(c));
        if letters {
            (0..self.kinds.len()).map(|at| &self.kinds[at..=at]).collect()
        } else {
            let workload = |name: &str| WORKLOADS.iter().find(|(known, ..)| *known == name && !self.models.contains_key(name));
            self.kinds.split_whitespace().flat_map(|name| workload(name).map_or(name, |found| found.1).split_whitespace()).collect()
        }
    }

    /// The kinds of the apps, starting with the most launched.
    pub fn kinds(&self) -> impl Iterator<Item = &AppSize> {
        self.parts().into_iter().filter_map(|name| self.named(name))
    }

    /// The kind of the app with this name: its entry in the table `by_name`, or if the table is
    /// empty the entry in `models`.
    pub fn by_name(&self, app: &str) -> Option<&AppSize> {
        match self.by_name.is_empty() {
            true => self.models.get(app),
            false => self.by_name.get(app).and_then(|kind| self.named(kind)),
        }
    }

    /// Check that every launched app has a kind.
    pub fn describe<'a>(&self, mut launched: impl Iterator<Item = &'a str>) -> Result<(), BadInput> {
        match launched.find(|app| !self.by_name.is_empty() && !self.by_name.contains_key(*app)) {
            Some(app) => {
                Err(BadInput::new("workload.apps.by_name", format!("no kind for '{app}', which is launched"), "a kind for each app"))
            }
            None => Ok(()),
        }
    }

    /// Check the values of the table.
    pub fn check(&self, place: &str) -> Result<(), BadInput> {
        let bad = |key: &str, found: String, expected: &str| Err(BadInput::new(format!("{place}{key}"), found, expected));
        let parts = self.parts();
        if parts.is_empty() {
            return bad(".kinds", "nothing".into(), "letters l, m, h and g, or names of kinds");
        }
        let named = self.by_name.values().map(String::as_str);
        if let Some(unknown) = parts.iter().copied().chain(named).find(|name| self.named(name).is_none()) {
            return Err(unknown_key(format!("{place}.kinds").as_str(), "kind of app", unknown, self.names()));
        }
        self.file_writes.check(&format!("{place}.file_writes"))?;
        let mut shares = vec![("graphics_kept", self.graphics_kept), ("spread", self.spread), ("lasting_share", self.lasting_share)];
        let of_all = [self.resume_share, self.warm_share, self.warm_probability, self.file_hot_share, self.write_share];
        let of_system = [self.system_hot_share, self.system_warm_share, self.system_warm_probability];
        let names = ["resume_share", "warm_share", "warm_probability", "file_hot_share", "write_share"];
        shares.extend(names.into_iter().zip(of_all));
        shares.extend(["system_hot_share", "system_warm_share", "system_warm_probability"].into_iter().zip(of_system));
        let kinds =
            [("light", &self.light), ("medium", &self.medium), ("heavy", &self.heavy), ("game", &self.game), ("system", &self.system)];
        let kinds: Vec<(&str, &AppSize)> = kinds.into_iter().chain(self.models.iter().map(|(name, size)| (name.as_str(), size))).collect();
        for (name, share) in &shares {
            if !(0.0..=1.0).contains(share) {
                return bad(&format!(".{name}"), share.to_string(), "0 to 1");
            }
        }
        let mut together = vec![("", self.resume_share + self.warm_share), ("", self.system_hot_share + self.system_warm_share)];
        for (name, of) in &kinds {
            let own = [of.resume_share, of.warm_share, of.warm_probability, of.file_hot_share, of.write_share, of.start_share];
            if own.into_iter().flatten().any(|share| !(0.0..=1.0).contains(&share)) {
                return bad(&format!(".{name}"), "a share beyond 0 to 1".into(), "shares from 0 to 1");
            }
            together.push((name, of.resume_share.unwrap_or(self.resume_share) + of.warm_share.unwrap_or(self.warm_share)));
            let amounts = [of.anon.0, of.file.0, of.graphics.0, of.camera.0, of.cold.0, of.resume.0];
            if !amounts.iter().all(|v| (0.0..1e6).contains(v)) {
                return bad(&format!(".{name}"), "a size or time that is negative or beyond 1e6".into(), "amounts from 0 to 1e6");
            }
        }
        let fits = |s: &Shared| (0.0..=1.0).contains(&s.apps) && [s.anon, s.file].iter().all(|size| (0.0..1e6).contains(&size.0));
        if self.shared.len() > MOST_SHARED || !self.shared.iter().all(fits) {
            return bad(
                ".shared",
                "an invalid range, or too many ranges".into(),
                "at most 64 ranges, sizes from 0 to 1e6, apps from 0 to 1",
            );
        }
        // Tolerate rounding errors.
        match together.iter().find(|(_, sum)| *sum > 1.0 + 1e-9) {
            Some((name, sum)) => {
                let key = if name.is_empty() { String::new() } else { format!(".{name}") };
                bad(&key, format!("shares of pages that sum to {sum}"), "hot and warm shares of at most 1 together")
            }
            None => Ok(()),
        }
    }
}
