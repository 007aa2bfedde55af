use super::*;

fn device(time: &str) -> Result<Device> {
    let text = format!("what = 'x'\nattachment = 'storage'\n[time]\nsource = 'hand'\n{time}");
    Device::new(DeviceSpec::parse("my.toml", &text)?)
}

const TIME: &str = "read_iops = 100_000\nread_bytes_per_s = 1e9\nwrite_latency_ns = 500\nwrite_bytes_per_s = 2e9\n";

#[test]
fn a_rate_includes_the_transfer_of_the_first_page_and_a_latency_does_not() {
    let d = device(TIME).unwrap();
    assert_eq!((d.read_time(512).0, d.read_time(4096).0, d.read_time(12_288).0), (10_000, 10_000, 18_192));
    assert_eq!((d.write_time(0).0, d.write_time(4096).0), (500, 2_548));
    assert_eq!((d.read_energy(4096), d.idle_watts(4096)), (None, None));
}

#[test]
fn an_operation_has_an_overlapping_part_and_a_transfer() {
    // 100,000 reads per second at 1 GB/s: 10 us each, of which 4,096 ns are the transfer. At
    // queue depth 4 the rest is 4 times as long.
    let parts = |own, transfer| Service { own: Nanos(own), transfer: Nanos(transfer) };
    assert_eq!(device(TIME).unwrap().service(), [parts(5_904, 4_096), parts(500, 2_048)]);
    assert_eq!(device(&format!("{TIME}queue_depth = 4\n")).unwrap().service()[0], parts(4 * 5_904, 4_096));
}

/// Simulate `n` operations: a round of `depth` operations starts when the previous one is done;
/// the overlapping parts run in parallel, the transfers one after the other.
fn served(own: f64, transfer: f64, depth: usize, n: usize) -> f64 {
    let (mut round, mut done) = (0.0, 0.0_f64);
    for operation in 0..n {
        if operation % depth == 0 {
            round = done;
        }
        done = done.max(round + own) + transfer;
    }
    done
}

#[test]
fn simultaneous_operations_are_served_in_rounds_and_share_the_bus() {
    // By hand: four overlapping parts of 8 us in parallel, then transfers of 4,096 ns each.
    let d = device("queue_depth = 4\nread_latency_ns = 8000\nread_bytes_per_s = 1e9\nwrite_latency_ns = 8000\nwrite_bytes_per_s = 1e9")
        .unwrap();
    let reads = |n: u64| n * d.read_time(4096).0 + d.read_slack(n).0;
    assert_eq!([1, 2, 4, 5, 8].map(reads), [12_096, 16_192, 24_384, 36_480, 48_768]);
    assert_eq!((d.queue_depth(), d.write_slack(3).0), (4, 2_000));
    for (depth, own, rate) in [(1, 500, 1e9), (3, 9_000, 2e9), (7, 70_000, 5e8), (32, 32_000, 4e9)] {
        let times = ["read", "write"].map(|way| format!("{way}_latency_ns = {own}\n{way}_bytes_per_s = {rate}\n")).concat();
        let d = device(&format!("queue_depth = {depth}\n{times}")).unwrap();
        for n in [1, 2, 3, 7, 8, 31, 32, 33, 100] {
            let model = (n * d.read_time(4096).0 + d.read_slack(n).0) as f64;
            let oracle = served(f64::from(own), 4096.0 * 1e9 / rate, depth, n as usize);
            assert!((model - oracle).abs() <= n as f64, "{n} reads, {depth} at a time: {model} ns, one by one {oracle}");
        }
    }
}

#[test]
fn rates_hold_for_a_full_queue_and_a_single_operation_takes_longer() {
    // 100,000 per second at queue depth 4: 10 us each of the device's time; a single operation
    // takes 40 us minus three transfers.
    let d = device(&format!("queue_depth = 4\n{TIME}")).unwrap();
    assert_eq!((d.read_time(4096).0, d.read_time(4096).0 + d.read_slack(1).0), (10_000, 40_000 - 3 * 4_096));
    assert_eq!((d.write_time(4096).0, d.read_slack(4).0), (125 + 2_048, 0));
    for bad in ["0", "1.5", "1e9"] {
        assert!(device(&format!("queue_depth = {bad}\n{TIME}")).unwrap_err().to_string().contains("time.queue_depth = "));
    }
}

#[test]
fn energy_is_power_times_time_or_energy_per_byte() {
    let d = device(&format!("{TIME}[energy]\nsource = 'hand'\nread_mw = 200\nwrite_pj_per_byte = 3\nidle_mw_per_gib = 8")).unwrap();
    assert_eq!((d.read_energy(4096).unwrap().0, d.write_energy(4096).unwrap().0), (2_000_000, 12_288));
    assert_eq!(d.idle_watts(1 << 29).unwrap(), 0.004);
    let d = device(&format!("{TIME}[energy]\nsource = 'hand'\nread_mw = 200\nwrite_mw = 2\nidle_mw = 5")).unwrap();
    assert_eq!((d.idle_watts(0), d.idle_watts(1 << 30)), (Some(0.005), Some(0.005)), "whatever its size");
}

#[test]
fn prices_from_table_ii_equal_those_of_the_equations() {
    let pcm = crate::load("lpddr2-pcm").unwrap();
    assert_eq!((pcm.read_time(4096).0, pcm.write_time(4096).0), (5_135, 5_140));
    assert_eq!((pcm.read_energy(4096).unwrap().0, pcm.write_energy(4096).unwrap().0), (1_678_483, 2_114_334));
    let emmc = crate::load("emmc-4.41").unwrap();
    // 100 mA at 3.3 V.
    let [reading, writing] = [(emmc.read_energy(4096), emmc.read_time(4096)), (emmc.write_energy(4096), emmc.write_time(4096))]
        .map(|(energy, time)| energy.unwrap().0 as f64 / time.0 as f64);
    assert!((reading - 330.0).abs() < 0.01 && (writing - 330.0).abs() < 0.01, "{reading} and {writing} mW");
    // An idle chip is in precharge power-down, and DRAM is refreshed.
    let dram = crate::load("lpddr2").unwrap();
    let milliwatts = |device: &Device, bytes| (device.idle_watts(bytes).unwrap() * 1e9).round() / 1e6;
    assert_eq!((milliwatts(&pcm, 1 << 30), milliwatts(&pcm, 1 << 28)), (0.2, 0.05));
    assert_eq!((milliwatts(&dram, 1 << 30), milliwatts(&dram, 1 << 28)), (13.6, 3.4));
    assert_eq!(milliwatts(&emmc, 1 << 30), 1.155, "350 uA at 3.3 V");
    assert_eq!((emmc.read_time(4096).0, emmc.write_time(4096).0), (79_385 + 25_000, 88_615 + 100_000));
}

#[test]
fn absent_conflicting_and_zero_constants_are_refused() {
    let message = |time: &str| device(time).unwrap_err().to_string();
    assert!(message("read_iops = 1").contains("time.read_bytes_per_s is absent"));
    assert!(message("read_bytes_per_s = 1").contains("time.read_iops and time.read_latency_ns are absent"));
    assert!(message("read_iops = 1\nread_latency_ns = 1\nread_bytes_per_s = 1").contains("are both given"));
    assert!(message("read_iops = 0\nread_bytes_per_s = 1").contains("time.read_iops = 0"));
    assert!(message("read_iops = 0.05\nread_bytes_per_s = 1e9").contains("time.read takes 20.0 s per page; expected 10 s at most"));
    assert!(message("read_latency_ns = 0\nread_bytes_per_s = 100").contains("time.read takes 40.96 s per page"));
    // 6 s, and 4 s for a page: the slowest that is accepted. What is missing comes after it.
    assert!(message("read_latency_ns = 6e9\nread_bytes_per_s = 1024").contains("time.write_bytes_per_s is absent"));
    assert!(message(&format!("{TIME}[energy]\nsource = 'hand'\nread_mw = 200")).contains("only one direction"));
    assert!(message(&format!("{TIME}[energy]\nsource = 'hand'\nread_mw = 200\nwrite_mw = 2")).contains("energy.idle_mw"));
    assert!(Device::new(DeviceSpec::parse("my.toml", "what = 'x'\nattachment = 'bus'").unwrap()).is_err());
    assert!(Device::new(DeviceSpec::parse("my.toml", "what = 'x'\nattachment = 'memory'").unwrap()).is_err());
}
