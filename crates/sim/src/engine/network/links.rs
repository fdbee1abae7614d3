//! The links of a network, in four bytes each where most are alike.

use super::LinkSpec;
use std::ops::Index;

/// How many of the latest kinds a new link is compared with.
const COMPARED: usize = 8;

/// Links, by number.
#[derive(Default)]
pub struct Links {
    kinds: Vec<LinkSpec>,
    kind_of: Vec<u32>,
}

impl Links {
    /// Makes room for so many links.
    pub(super) fn reserve(&mut self, links: usize) {
        self.kind_of.reserve_exact(links);
    }

    /// Adds a link.
    pub(super) fn push(&mut self, link: LinkSpec) {
        let from = self.kinds.len().saturating_sub(COMPARED);
        let kind = from + self.kinds[from..].iter().position(|kind| *kind == link).unwrap_or(self.kinds.len() - from);
        if kind == self.kinds.len() {
            self.kinds.push(link);
        }
        self.kind_of.push(kind as u32);
    }

    /// Number of links.
    pub fn len(&self) -> usize {
        self.kind_of.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kind_of.is_empty()
    }

    /// All links in order.
    pub fn iter(&self) -> impl Iterator<Item = &LinkSpec> + '_ {
        self.kind_of.iter().map(|&kind| &self.kinds[kind as usize])
    }
}

impl Index<usize> for Links {
    type Output = LinkSpec;

    fn index(&self, link: usize) -> &LinkSpec {
        &self.kinds[self.kind_of[link] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_alike_are_stored_once() {
        let mut links = Links::default();
        for number in 0..20 {
            links.push(LinkSpec { rate_bps: 1e6, delay_s: f64::from(number % 2), port: None });
        }
        links.push(LinkSpec { rate_bps: 1e6, delay_s: 1.0, port: Some(0) });
        assert_eq!((links.len(), links.kinds.len()), (21, 3));
        assert!((0..20).all(|number| links[number].delay_s == (number % 2) as f64));
        assert_eq!(links.iter().last().and_then(|link| link.port), Some(0));
    }
}
