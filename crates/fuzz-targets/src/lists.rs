//! Target that compares the lists of resident pages and ghost entries, which policies use, with
//! deques. After each step they must have the same pages in the same order.

use crate::Draw;
use std::collections::VecDeque;
use swaplab_policy::containers::links::{Links, List};
use swaplab_policy::containers::lists::Lists;
use swaplab_policy::containers::queues::{Queue, Queues};
use swaplab_vocab::PageId;

/// The number of lists, or of queues in [`Queues`].
const LISTS: usize = 4;

type Model = [VecDeque<PageId>; LISTS];

/// Compare one structure with its model. Input: the first byte selects the structure, the second
/// the number of pages. Each step has three bytes: action, list, page.
pub fn lists(data: &[u8]) {
    let mut draw = Draw(data);
    let structure = draw.byte();
    let pages = u32::from(draw.byte()) + 1;
    match structure % 3 {
        0 => links(draw, pages),
        1 => homes(draw, pages),
        _ => queues(draw, pages),
    }
}

/// Take the next step from the input: the action, a list, a page, and the list that has the page
/// now. `None` at the end of the input.
fn step(draw: &mut Draw, pages: u32, model: &Model) -> Option<(u8, usize, PageId, Option<usize>)> {
    if draw.0.is_empty() {
        return None;
    }
    let (action, list, page) = (draw.byte(), usize::from(draw.byte()) % LISTS, PageId::from(draw.byte()) % pages);
    Some((action, list, page, model.iter().position(|members| members.contains(&page))))
}

fn forget(model: &mut Model, page: PageId) {
    model.iter_mut().for_each(|members| members.retain(|p| *p != page));
}

fn links(mut draw: Draw, pages: u32) {
    let (mut links, mut model) = (Links::new(pages as usize, LISTS), Model::default());
    while let Some((action, l, page, home)) = step(&mut draw, pages, &model) {
        let list = List(l);
        match (action % 8, home) {
            (0, None) => {
                links.push_front(list, page);
                model[l].push_front(page);
            }
            (1, None) => {
                links.push_back(list, page);
                model[l].push_back(page);
            }
            (2, Some(h)) => {
                links.remove(List(h), page);
                forget(&mut model, page);
            }
            (3, Some(h)) => {
                links.move_to_front(List(h), page);
                forget(&mut model, page);
                model[h].push_front(page);
            }
            (4, Some(h)) => {
                links.transfer_to_front(List(h), list, page);
                forget(&mut model, page);
                model[l].push_front(page);
            }
            (5, _) => assert_eq!(links.pop_back(list), model[l].pop_back()),
            (6, None) if !model[l].is_empty() => {
                let at = page as usize % model[l].len();
                links.insert_before(list, model[l][at], page);
                model[l].insert(at, page);
            }
            (7, None) => {
                links.insert_before(list, links.sentinel(list), page);
                model[l].push_back(page);
            }
            _ => {}
        }
        assert_eq!(links.contains(page), model.iter().any(|members| members.contains(&page)));
        for (at, members) in model.iter().enumerate() {
            let list = List(at);
            links.check(list).unwrap_or_else(|e| panic!("{e}"));
            assert!(links.iter(list).eq(members.iter().copied()));
            assert_eq!((links.len(list), links.is_empty(list)), (members.len(), members.is_empty()));
            assert_eq!((links.front(list), links.back(list)), (members.front().copied(), members.back().copied()));
        }
    }
}

fn homes(mut draw: Draw, pages: u32) {
    let (mut lists, mut model) = (Lists::new(pages as usize, LISTS), Model::default());
    while let Some((action, l, page, home)) = step(&mut draw, pages, &model) {
        let list = List(l);
        match (action % 6, home) {
            (0, None) => {
                lists.push_front(list, page);
                model[l].push_front(page);
            }
            (1, Some(_)) => {
                lists.move_to_front(list, page);
                forget(&mut model, page);
                model[l].push_front(page);
            }
            (2, _) => {
                assert_eq!(lists.remove(page), home.is_some());
                forget(&mut model, page);
            }
            (3, _) => assert_eq!(lists.pop_back(list), model[l].pop_back()),
            (4, _) => {
                lists.trim(list, action as usize / 6);
                model[l].truncate(action as usize / 6);
            }
            _ => assert_eq!(lists.home(page).map(|list| list.0), home),
        }
        lists.check().unwrap_or_else(|e| panic!("{e}"));
        for (at, members) in model.iter().enumerate() {
            let list = List(at);
            assert!(lists.iter(list).eq(members.iter().copied()));
            let ends = (members.front().copied(), members.back().copied());
            assert_eq!((lists.len(list), (lists.front(list), lists.back(list))), (members.len(), ends));
            assert!(members.iter().all(|page| lists.is_in(list, *page)));
        }
    }
}

fn queues(mut draw: Draw, pages: u32) {
    let (mut queues, mut model): (Queues, _) = (Queues::new(pages as usize), Model::default());
    while let Some((action, q, page, home)) = step(&mut draw, pages, &model) {
        let queue = Queue(q as u32);
        match (action % 6, home) {
            (0 | 1, None) => {
                queues.push(queue, page);
                model[q].push_back(page);
            }
            (0 | 1, Some(_)) => {
                queues.move_to(queue, page);
                forget(&mut model, page);
                model[q].push_back(page);
            }
            (2, _) => {
                queues.remove(page);
                forget(&mut model, page);
            }
            (3, _) => assert_eq!(queues.pop(queue), model[q].pop_front()),
            (4, _) => {
                queues.trim(queue, action as usize / 6);
                let over = model[q].len().saturating_sub(action as usize / 6);
                model[q].drain(..over);
            }
            _ => assert_eq!(queues.home(page).map(|queue| queue.0 as usize), home),
        }
        queues.check().unwrap_or_else(|e| panic!("{e}"));
        for (at, members) in model.iter().enumerate() {
            let queue = Queue(at as u32);
            assert!(queues.iter(queue).eq(members.iter().copied()));
            assert_eq!((queues.len(queue), queues.is_empty(queue)), (members.len(), members.is_empty()));
            assert!(members.iter().all(|page| queues.contains(*page) && queues.is_in(queue, *page)));
        }
    }
}
