//! A `.pftrace` for Perfetto's viewer and trace processor: tracks of slices, counters and instants.

use crate::perfetto::{CounterDescriptor, TracePacket, TrackDescriptor, TrackEvent, Type, Unit};
use serde::Deserialize;

/// A row of the viewer. `under` is the index of its parent, an earlier track.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Track {
    pub name: String,
    #[serde(default)]
    pub under: Option<usize>,
    pub content: Content,
}

/// The content of a track. Times are in nanoseconds. Two slices of a track are either nested or
/// disjoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A group of other tracks.
    Group,
    /// Start, length, name, category.
    Slices(Vec<(u64, u64, String, String)>),
    /// Time and value.
    Bytes(Vec<(u64, i64)>),
    Nanoseconds(Vec<(u64, i64)>),
    Count(Vec<(u64, i64)>),
    /// Time, name, category.
    Moments(Vec<(u64, String, String)>),
}

/// The sequence number of all packets.
const SEQUENCE: u32 = 1;

/// The content of the file: descriptions of the tracks, then events in order of time.
pub fn pftrace(tracks: &[Track]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |timestamp: Option<u64>, packet: TracePacket| {
        let packet = TracePacket { timestamp, trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        // Field 1 of `Trace`, length-delimited.
        prost::encoding::message::encode(1, &packet, &mut out);
    };
    let uuid = |at: usize| at as u64 + 1;
    // (time, order at equal times, track, event): ends precede starts, and a longer slice starts
    // before the slices nested in it.
    let mut events: Vec<(u64, u64, usize, TrackEvent)> = Vec::new();
    for (at, track) in tracks.iter().enumerate() {
        let unit = match &track.content {
            Content::Bytes(_) => Some(Unit::SizeBytes),
            Content::Nanoseconds(_) => Some(Unit::TimeNs),
            Content::Count(_) => Some(Unit::Count),
            _ => None,
        };
        let descriptor = TrackDescriptor {
            uuid: Some(uuid(at)),
            parent_uuid: track.under.map(uuid),
            name: Some(track.name.clone()),
            counter: unit.map(|unit| CounterDescriptor { unit: Some(unit.into()) }),
        };
        put(None, TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
        let event = |kind: Type| TrackEvent { r#type: Some(kind.into()), track_uuid: Some(uuid(at)), ..TrackEvent::default() };
        match &track.content {
            Content::Group => {}
            Content::Slices(slices) => {
                for (start, length, name, category) in slices {
                    let begin = TrackEvent { name: Some(name.clone()), categories: vec![category.clone()], ..event(Type::SliceBegin) };
                    events.push((*start, u64::MAX - length, at, begin));
                    events.push((start + length, u64::from(*length == 0) * u64::MAX, at, event(Type::SliceEnd)));
                }
            }
            Content::Bytes(samples) | Content::Nanoseconds(samples) | Content::Count(samples) => {
                let sample = |value: i64| TrackEvent { counter_value: Some(value), ..event(Type::Counter) };
                events.extend(samples.iter().map(|(time, value)| (*time, 0, at, sample(*value))));
            }
            Content::Moments(moments) => {
                for (time, name, category) in moments {
                    let moment = TrackEvent { name: Some(name.clone()), categories: vec![category.clone()], ..event(Type::Instant) };
                    events.push((*time, 0, at, moment));
                }
            }
        }
    }
    events.sort_by_key(|(time, order, track, _)| (*time, *order, *track));
    for (time, _, _, event) in events {
        put(Some(time), TracePacket { track_event: Some(event), ..TracePacket::default() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    struct File {
        #[prost(message, repeated, tag = "1")]
        packets: Vec<TracePacket>,
    }

    /// At time 5, `a` ends before `b` begins; of two slices that begin then, the longer one begins
    /// first; a slice without length begins before it ends.
    #[test]
    fn slices_that_meet_are_in_the_order_of_a_viewer() {
        let slice = |start, length, name: &str| (start, length, name.to_string(), "c".to_string());
        let slices = vec![slice(2, 3, "a"), slice(5, 1, "c"), slice(5, 4, "b"), slice(20, 0, "d")];
        let group = Track { name: "group".into(), under: None, content: Content::Group };
        let row = Track { name: "row".into(), under: Some(0), content: Content::Slices(slices) };
        let file = File::decode(&pftrace(&[group, row])[..]).unwrap();
        let described: Vec<_> = file.packets.iter().filter_map(|p| p.track_descriptor.as_ref()).map(|t| (t.uuid, t.parent_uuid)).collect();
        assert_eq!(described, [(Some(1), None), (Some(2), Some(1))]);
        let events: Vec<_> = file
            .packets
            .iter()
            .filter_map(|p| Some((p.timestamp?, p.track_event.as_ref()?.name.clone().unwrap_or_default())))
            .map(|(time, name)| format!("{time}{name}"))
            .collect();
        assert_eq!(events, ["2a", "5", "5b", "5c", "6", "9", "20d", "20"]);
        // A viewer joins the packets of one sequence.
        assert!(file.packets.iter().all(|packet| packet.trusted_packet_sequence_id == Some(SEQUENCE)));
    }

    #[test]
    fn a_counter_has_the_unit_of_its_values() {
        let track = |content| Track { name: "t".into(), under: None, content };
        let [bytes, time, count] = [Content::Bytes, Content::Nanoseconds, Content::Count].map(|of| track(of(vec![(4, 9)])));
        let file = File::decode(&pftrace(&[bytes, time, count, track(Content::Group)])[..]).unwrap();
        let units: Vec<_> =
            file.packets.iter().filter_map(|p| p.track_descriptor.as_ref()).map(|t| t.counter.as_ref().and_then(|c| c.unit)).collect();
        assert_eq!(units, [Some(Unit::SizeBytes.into()), Some(Unit::TimeNs.into()), Some(Unit::Count.into()), None]);
        let values: Vec<_> = file.packets.iter().filter_map(|p| Some((p.timestamp?, p.track_event.as_ref()?.counter_value?))).collect();
        assert_eq!(values, [(4, 9); 3]);
    }
}
