use super::*;
use swaplab_vocab::Class;

impl Sink for Vec<Event> {
    fn put(&mut self, event: &Event) -> bool {
        self.push(event.clone());
        true
    }
}

const AT: u64 = 0x1000_0000_0000;

fn recorder(limits: Limits) -> Recorder<Vec<Event>> {
    let mut r = Recorder::new(Vec::new(), Process::own(), limits);
    r.map(Region::anonymous(Span::of_bytes(AT, 16 << 12)));
    r
}

/// The references among the events, as letter and page of the arena.
fn references(r: Recorder<Vec<Event>>) -> String {
    let letter = |e| match e {
        Event::Access { page, op } => Some(format!("{}{}", op.letter(), page - (AT >> 12))),
        _ => None,
    };
    r.into_sink().into_iter().filter_map(letter).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_filter_drops_hits_but_no_first_write() {
    let mut r = recorder(Limits { filter: 2, ..Limits::default() });
    for (op, page) in [
        (Op::Read, 0),
        (Op::Read, 0),
        (Op::Write, 0),
        (Op::Write, 0),
        (Op::Read, 1),
        (Op::Fetch, 0),
        (Op::Read, 2),
        (Op::Write, 0),
        (Op::Read, 1),
    ] {
        r.touch(op, AT + page * 4096, 8);
    }
    // Page 2 evicted page 1, because 0 was more recent; page 0 stayed and was already written.
    assert_eq!(references(r), "R0 W0 R1 R2 R1");
}

#[test]
fn after_a_label_the_filter_lets_each_page_through_once() {
    let mut r = Recorder::new(Labeled::default(), Process::own(), Limits { filter: 4, ..Limits::default() });
    r.map(Region::anonymous(Span::of_bytes(AT, 16 << 12)));
    let mut run = |ops: &[(Op, u64)], labels| {
        r.sink.labels = labels;
        r.progress(0);
        ops.iter().for_each(|(op, page)| r.touch(*op, AT + page * 4096, 8));
    };
    run(&[(Op::Write, 0), (Op::Read, 1), (Op::Read, 1)], 0);
    run(&[(Op::Read, 1), (Op::Read, 1), (Op::Read, 0), (Op::Write, 0)], 1);
    run(&[(Op::Write, 0), (Op::Read, 0)], 2);
    let told: String = r.into_sink().events.iter().filter_map(told).collect();
    assert_eq!(told, " W0 R1 | R1 R0 | W0");
}

/// A sink with a number of requested `labels`.
#[derive(Default)]
struct Labeled {
    events: Vec<Event>,
    labels: u64,
}

impl Sink for Labeled {
    fn put(&mut self, event: &Event) -> bool {
        self.events.put(event)
    }

    fn labels(&self) -> u64 {
        self.labels
    }
}

fn told(event: &Event) -> Option<String> {
    match event {
        Event::Access { page, op } => Some(format!(" {}{}", op.letter(), page - (AT >> 12))),
        Event::Label(_) => Some(" |".into()),
        _ => None,
    }
}

#[test]
fn an_access_across_a_page_border_touches_both() {
    let mut r = recorder(Limits::default());
    r.touch(Op::Write, AT + 4095, 2);
    r.touch(Op::Write, AT + 4095, 2);
    assert_eq!(references(r), "W0 W1 W0 W1");
}

#[test]
fn after_unmap_discard_and_remap_the_filter_has_forgotten() {
    let mut r = recorder(Limits { filter: 8, ..Limits::default() });
    let span = |page, pages| Span { first: (AT >> 12) + page, pages };
    (0..4).for_each(|p| r.touch(Op::Write, AT + p * 4096, 1));
    r.discard(span(0, 1));
    r.unmap(span(1, 1));
    r.map(Region::anonymous(span(1, 1)));
    r.remap(span(2, 1), span(9, 1));
    [0, 1, 3, 9].iter().for_each(|p| r.touch(Op::Read, AT + p * 4096, 1));
    assert_eq!(references(r), "W0 W1 W2 W3 R0 R1 R9");
}

#[test]
fn an_unknown_page_is_declared_once_with_its_whole_region() {
    let value = 5u8;
    let mut r = Recorder::new(Vec::new(), Process::own(), Limits::default());
    let address = &value as *const u8 as u64;
    r.touch(Op::Read, address, 1);
    r.touch(Op::Read, address, 1);
    let maps: Vec<_> = r.into_sink().into_iter().filter(|e| matches!(e, Event::Map { .. })).collect();
    let [Event::Map { span, class: Class::Anonymous, file: 0, .. }] = maps.as_slice() else { panic!("{maps:?}") };
    assert!((span.first..span.end()).contains(&(address >> 12)));
}

#[test]
fn the_limit_ends_the_recording() {
    let mut r = recorder(Limits { max: Some(10), ..Limits::default() });
    r.progress(9);
    assert!(r.is_open());
    r.progress(10);
    assert!(!r.is_open());
    r.touch(Op::Read, AT, 1);
    assert!(matches!(r.into_sink().last(), Some(Event::End(Summary { reason: Reason::Limit, raw_references: 10, .. }))));
}
