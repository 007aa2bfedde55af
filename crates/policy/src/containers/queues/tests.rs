use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const QUEUES: usize = 4;
type Step = (PageId, u32, u8);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u32..90, 0u32..QUEUES as u32, 0u8..8), 0..1500)
}

proptest! {
    #[test]
    fn four_behave_as_deques(steps in steps()) {
        behave_as_deques(Queues::<u32>::new(90), steps)?;
    }

    #[test]
    fn many_behave_as_deques(steps in steps()) {
        let mut queues = Queues::<u64>::new(90);
        for _ in 0..QUEUES {
            queues.add();
        }
        behave_as_deques(queues, steps)?;
    }
}

fn behave_as_deques<A: At>(mut queues: Queues<A>, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut model: [VecDeque<PageId>; QUEUES] = Default::default();
    for (page, q, step) in steps {
        let home = (0..QUEUES).find(|l| model[*l].contains(&page));
        let own = &mut model[q as usize];
        match (step, home) {
            (0..=3, None) => {
                queues.push(Queue(q), page);
                own.push_back(page);
            }
            (0..=3, Some(h)) => {
                queues.move_to(Queue(q), page);
                model[h].retain(|p| *p != page);
                model[q as usize].push_back(page);
            }
            (4, _) => {
                queues.remove(page);
                model.iter_mut().for_each(|m| m.retain(|p| *p != page));
            }
            (5, _) => prop_assert_eq!(queues.pop(Queue(q)), own.pop_front()),
            (6, _) => {
                queues.trim(Queue(q), 30);
                while own.len() > 30 {
                    own.pop_front();
                }
            }
            _ => {}
        }
        prop_assert_eq!(queues.home(page).map(|q| q.0 as usize), (0..QUEUES).find(|l| model[*l].contains(&page)));
    }
    queues.check().unwrap();
    for (q, own) in model.iter().enumerate() {
        prop_assert_eq!(&queues.iter(Queue(q as u32)).collect::<VecDeque<_>>(), own);
    }
    Ok(())
}
