//! str0m, a WebRTC stack, at two hosts of [earlydrop_path]: one sends video at the rate that str0m's bandwidth estimation
//! (GCC, Google's congestion control for WebRTC) allows, the other receives it.
//!
//! What str0m draws comes from the generator of the thread, which [`call`] seeds, so both peers belong to the thread that
//! made them. Its DTLS draws elsewhere, and has signatures of random size: compare runs from the first frame on.

use earlydrop_path::{Clock, Delivery, Drive, Ecn, Endpoint, Transmit};
use std::collections::VecDeque;
use std::net::SocketAddr;
use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, MediaTime, Mid};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// Frames a second.
pub const FRAMES: f64 = 30.0;
/// First estimate, bit/s.
const FIRST: u64 = 300_000;
/// Part of the estimate that frames take; the rest is for headers and for what is sent again.
const MEDIA: f64 = 0.9;
/// Clock of video, ticks a second.
const TICKS: f64 = 90e3;

/// One end of a call.
pub struct Peer {
    rtc: Rtc,
    clock: Clock,
    local: SocketAddr,
    remote: SocketAddr,
    outgoing: VecDeque<Vec<u8>>,
    /// When str0m wants to be called, s.
    timeout: f64,
    video: Option<Video>,
    /// Estimate of what may be sent, bit/s.
    pub estimate: u64,
    /// Frames that were sent, or have arrived whole.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
}

/// What the sender sends.
struct Video {
    mid: Mid,
    start: f64,
    /// The next frame is due, s.
    next: f64,
    end: f64,
    /// The most that it ever wants to send, bit/s.
    most: u64,
}

/// The two ends of a call: video from `start` to `end`, s, at no more than `most` bit/s.
pub fn call(start: f64, end: f64, most: u64, seed: u64) -> (Peer, Peer) {
    fastrand::seed(seed);
    let clock = Clock::new();
    let addresses: [SocketAddr; 2] = [([10, 0, 0, 1], 5000).into(), ([10, 0, 0, 2], 5000).into()];
    let [mut sender, mut receiver] = [(0, 1), (1, 0)].map(|(local, remote)| {
        let config = Rtc::builder().clear_codecs().enable_vp8(true).enable_bwe(Some(Bitrate::from(FIRST)));
        let mut rtc = config.build(clock.instant(0.0));
        rtc.add_local_candidate(Candidate::host(addresses[local], "udp").expect("an address of a host"));
        let (local, remote, outgoing) = (addresses[local], addresses[remote], VecDeque::new());
        let (timeout, video, estimate, frames, bytes) = (0.0, None, FIRST, 0, 0);
        Peer { rtc, clock, local, remote, outgoing, timeout, video, estimate, frames, bytes }
    });
    let mut offer = sender.rtc.sdp_api();
    let mid = offer.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = offer.apply().expect("an offer of one medium");
    let answer = receiver.rtc.sdp_api().accept_offer(offer).expect("an offer of the same stack");
    sender.rtc.sdp_api().accept_answer(pending, answer).expect("an answer of the same stack");
    sender.video = Some(Video { mid, start, next: start, end, most });
    (sender, receiver)
}

impl Peer {
    /// After each change str0m wants to be asked until it names a time.
    fn drain(&mut self) {
        loop {
            match self.rtc.poll_output().expect("str0m goes on") {
                Output::Timeout(instant) => {
                    self.timeout = self.clock.time(instant);
                    return;
                }
                Output::Transmit(transmit) => self.outgoing.push_back(transmit.contents.into()),
                Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => {
                    self.estimate = estimate.as_u64();
                }
                Output::Event(Event::MediaData(frame)) => {
                    self.frames += 1;
                    self.bytes += frame.data.len() as u64;
                }
                Output::Event(_) => {}
            }
        }
    }

    fn input(&mut self, input: Input) {
        self.rtc.handle_input(input).expect("str0m goes on");
        self.drain();
    }
}

impl Endpoint for Peer {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        let received = Receive::new(Protocol::Udp, self.remote, self.local, &datagram.payload);
        let received = received.expect("a datagram of the same stack");
        self.input(Input::Receive(self.clock.instant(now), received));
    }
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        Some(Transmit { payload: self.outgoing.pop_front()?, ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        let frame = self.video.as_ref().filter(|video| video.next < video.end);
        Some(frame.map_or(self.timeout, |video| video.next.min(self.timeout)))
    }
    fn handle_timeout(&mut self, now: f64) {
        self.input(Input::Timeout(self.clock.instant(now)));
    }

    fn drive(&mut self, now: f64) -> Drive {
        let Some(video) = &mut self.video else { return Drive::Done };
        if video.next >= video.end {
            return Drive::Done;
        }
        if now >= video.next {
            let size = (MEDIA * self.estimate.min(video.most) as f64 / 8.0 / FRAMES) as usize;
            let time = MediaTime::from_90khz((video.next * TICKS) as u64);
            let (mid, most) = (video.mid, video.most);
            self.frames += 1;
            self.bytes += size as u64;
            video.next = video.start + self.frames as f64 / FRAMES;
            if self.frames == 1 {
                // From now on str0m looks for this rate, with padding.
                self.rtc.bwe().set_desired_bitrate(Bitrate::from(most));
                self.drain();
            }
            let writer = self.rtc.writer(mid).expect("a medium that was offered");
            let vp8 = writer.payload_params().find(|params| params.spec().codec == Codec::Vp8).expect("VP8").pt();
            writer.write(vp8, self.clock.instant(now), time, vec![0; size]).expect("a frame");
            self.drain();
        }
        Drive::Wait
    }
}
