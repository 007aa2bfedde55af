//! Recordings of phones, imported and written again as `series`, by cases worked by hand.

use std::path::Path;
use swaplab_trace::import::{import, Options};
use swaplab_trace::{export, Codec, Trace};
use swaplab_vocab::Result;

/// The text as `memory-samples`, exported as `series` without its header.
fn series(text: &str) -> Result<String> {
    let folder = tempfile::tempdir().unwrap();
    let [samples, trace, csv] = ["samples.txt", "out.slt", "series.csv"].map(|name| folder.path().join(name));
    std::fs::write(&samples, text).unwrap();
    import(&samples, &trace, Codec::Zstd, &Options::default(), &mut |_, _| true)?;
    export::convert(&Trace::open(Path::new(&trace)).unwrap(), "series", &csv, &mut |_, _| true)?;
    Ok(std::fs::read_to_string(csv).unwrap().strip_prefix("t_s,app,what,value\n").unwrap().to_string())
}

#[test]
fn samples_of_a_phone_become_launches_kills_and_series() {
    let text = "\
@ 100
process 7 mail 900
Rss: 5000 kB
Anonymous: 3000 kB
process 8 maps
Rss: 40 kB
Anonymous: 50 kB
MemFree: 7 kB
@ 101.5 launch maps
@ 103.5 launch mail 4
pswpin 12
some avg10=0.00 total=25
@ 104 start maps
@ 104 start maps
@ 110 kill mail
";
    let expected = "\
0,machine,mem_free_kib,7
0,mail,anon_kib,3000
0,mail,file_kib,2000
0,mail,oom_score_adj,900
0,maps,anon_kib,50
0,maps,file_kib,0
1.5,maps,launch,2
3.5,mail,launch,4
3.5,machine,pswpin,12
3.5,machine,psi_some_ns,25000
4,maps,starts,1
4,maps,starts,2
10,mail,kill,
";
    assert_eq!(series(text).unwrap(), expected);
}

#[test]
fn an_app_without_a_duration_is_in_front_until_the_recording_ends() {
    assert_eq!(series("@ 1 launch mail\n@ 6.25\n").unwrap(), "0,mail,launch,5.25\n");
}

#[test]
fn samples_that_run_backwards_are_refused_with_their_line() {
    let error = series("@ 5 start mail\n@ 4\n").unwrap_err().to_string();
    assert!(error.ends_with("samples.txt: line 2: 4 s after 5 s; expected times that do not run backwards"), "{error}");
}
