//! Compares the gate and its averages with the independent model in Python, on cases that the model
//! generated (`tests/python/test_a2s_model.py` fails if the file differs from the model's output).

use swaplab_apps::app_policy::{AppPolicy, Ess, Gate, Lvsp};
use swaplab_apps::{History, Owner};

#[test]
fn decisions_are_those_of_the_plain_model() {
    let mut cases = 0;
    for line in include_str!("a2s_model.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [launches, owners, live, t_live, t_reuse, t_launched, strict, averages, expected] = fields[..] else { panic!("{line}") };
        let mut history = History::default();
        launches.split_whitespace().for_each(|app| history.launch(app.parse().unwrap()));
        let strict = strict == "1";
        let owners: Vec<Owner> =
            owners.split_whitespace().map(|o| if o == "s" { Owner::System } else { Owner::App(o.parse().unwrap()) }).collect();
        for (app, average) in averages.split_whitespace().enumerate() {
            let computed = history.current_average(app as u16, strict);
            assert!((computed - average.parse::<f64>().unwrap()).abs() < 1e-9, "app {app} in {line}: {computed}");
        }
        let ess = Ess { t_live: t_live.parse().unwrap() };
        let lvsp = Lvsp { t_reuse: t_reuse.parse().unwrap(), t_launched: t_launched.parse().unwrap(), strict };
        let gate = Gate::new(AppPolicy::A2s, ess, lvsp);
        assert_eq!(gate.may_swap_out(live.parse().unwrap(), &owners, &history), expected == "1", "{line}");
        cases += 1;
    }
    assert!(cases >= 400, "{cases}");
}

#[test]
fn wide_thresholds_equal_vanilla_swap() {
    let history = History::default();
    let lvsp = Lvsp { t_reuse: f64::INFINITY, t_launched: 0, strict: false };
    for policy in [AppPolicy::None, AppPolicy::Ess, AppPolicy::Lvsp, AppPolicy::A2s] {
        let gate = Gate::new(policy, Ess { t_live: 23.0 }, lvsp);
        assert!((0..=22).all(|live| gate.may_swap_out(live, &[Owner::App(3)], &history)));
    }
}
