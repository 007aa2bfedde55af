//! When launches begin.

use super::small::{booted, check};
use swaplab_experiment::Experiment;

/// The user of a table comes back 3 s after home, as in a guest, however long the launch before
/// took. A cold start of 2 s and a resume of 0.5 s are in front for 50 ms from the launch on; after
/// them the app only waits for the rest of its file.
#[test]
fn a_launch_of_a_table_begins_three_seconds_after_home() {
    let text = "[machine]\ndram = '64MiB'\n[[design]]\nswap = 'none'\n[workload]\nlaunches = { order = ['a', 'b'], rounds = 2 }\n\
                apps = [{ use = 'phone-app', name = 'a', cold = '2s', resume = '500ms' }, { use = 'phone-app', name = 'b' }]";
    let booted = booted(&Experiment::parse("e.toml", text, &[]).unwrap());
    let mut phone = booted.phone();
    for launch in &booted.sequence().launches {
        phone.launch(launch).unwrap();
        check(&phone.machine).unwrap();
    }
    let launches = &phone.machine.record.launches;
    let own_ns: Vec<u64> = launches.iter().map(|launch| launch.cpu_ns).collect();
    assert_eq!(own_ns, [2_000_000_000, 0, 500_000_000, 0, 500_000_000, 0]);
    for pair in launches.windows(2) {
        let in_front_until_ns = pair[0].ready_at_ns.max(pair[0].at_ns + 50_000_000);
        let pause_ns = pair[1].at_ns - in_front_until_ns;
        assert!((3_000_000_000..3_010_000_000).contains(&pause_ns), "{pause_ns}");
    }
}
