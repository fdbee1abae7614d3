//! What goes between a host and the engine: the input, the latest text, the latest array.

use earlydrop_sim::scenario::ScenarioError;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::sync::Once;

/// Largest input, bytes.
pub const MOST_INPUT: usize = 8 << 20;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
    /// Numbers of the latest call that has none of its own at hand.
    static NUMBERS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    /// Where the latest array lies, and its length.
    static ARRAY: Cell<(*const f64, usize)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// What is wrong with a call.
#[derive(Debug)]
pub struct Wrong(Value);

impl Wrong {
    /// A message about a call as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        ScenarioError::new("", message).into()
    }
}

impl From<ScenarioError> for Wrong {
    fn from(error: ScenarioError) -> Self {
        Wrong(json!({
            "error": error.to_string(),
            "path": error.path,
            "message": error.message,
            "given": error.given,
            "allowed": error.allowed,
        }))
    }
}

/// A panic is a slip in the engine, and ends the instance. Its message is then the text.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            say(json!({ "error": format!("the engine panicked: {panic}") }).to_string());
        }));
    });
}

/// The input, with space for `length` bytes; null if that is more than [`MOST_INPUT`].
pub fn input_space(length: usize) -> *mut u8 {
    keep_panics();
    if length > MOST_INPUT {
        return std::ptr::null_mut();
    }
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// The input as JSON; it is used up.
pub fn input() -> Result<Value, Wrong> {
    let bytes = INPUT.take();
    serde_json::from_slice(&bytes).map_err(|error| Wrong::new(format!("the input is not JSON: {error}")))
}

/// Keeps `text` for the host.
pub fn say(text: String) {
    // A panic's message must not fail because a text is being written.
    TEXT.with(|kept| kept.try_borrow_mut().map(|mut kept| *kept = text).unwrap_or_default());
}

/// Where the latest text lies, and its bytes.
pub fn text() -> (*const u8, usize) {
    TEXT.with_borrow(|text| (text.as_ptr(), text.len()))
}

/// Keeps `numbers` for the host.
pub fn give(numbers: Vec<f64>) {
    NUMBERS.set(numbers);
    NUMBERS.with_borrow(|numbers| show(numbers));
}

/// The host may read `numbers` where they are, until the next call.
pub fn show(numbers: &[f64]) {
    ARRAY.set((numbers.as_ptr(), numbers.len()));
}

/// Where the latest array lies, and how many numbers it has.
pub fn array() -> (*const f64, usize) {
    ARRAY.get()
}

/// Status of a call: what it returned, or -1 with the error as the text.
pub fn status(made: Result<i32, Wrong>) -> i32 {
    made.unwrap_or_else(|Wrong(error)| {
        say(error.to_string());
        -1
    })
}
