//! Arithmetic that people write: one expression of named numbers, parsed once, then run on a stack for each packet.
//!
//! There is no loop and no jump, so that a text of bounded length takes bounded time. Magnitudes go from [`LEAST`] to
//! [`MOST`]: what is smaller is 0, and what is larger is [`MOST`]. Products and quotients of such numbers are neither
//! infinite nor subnormal; processors compute with subnormal numbers up to a hundred times as slowly.

use std::fmt;

/// The largest magnitude.
pub const MOST: f64 = 1e150;
/// The smallest magnitude but 0.
pub const LEAST: f64 = 1e-150;
/// Most operators, signs and functions of an expression.
pub const OPERATIONS: usize = 64;
/// Most brackets, functions and signs within one another.
pub const NESTED: usize = 32;
/// The operators and functions, as people read them.
pub const LANGUAGE: &str = "+ - * / <, min(a, b), max(a, b), exp(x), sqrt(x), numbers and brackets";
/// ln of [`MOST`], rounded up: `exp` beyond it is 0 or [`MOST`].
const LARGEST_EXPONENT: f64 = 346.0;

/// One step of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Puts a number on the stack.
    Number(f64),
    /// Puts a named number on the stack.
    Input(usize),
    /// Replaces the top of the stack.
    One(One),
    /// Replaces the two on top of the stack.
    Two(Two),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum One {
    Negate,
    Exp,
    Sqrt,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    Min,
    Max,
}

/// The functions by name.
const FUNCTIONS: [(&str, Step); 4] = [
    ("min", Step::Two(Two::Min)),
    ("max", Step::Two(Two::Max)),
    ("exp", Step::One(One::Exp)),
    ("sqrt", Step::One(One::Sqrt)),
];

/// `x` within the magnitudes; NaN is 0.
#[inline]
fn bounded(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude <= MOST {
        if magnitude >= LEAST {
            x
        } else {
            0.0
        }
    } else if x.is_nan() {
        0.0
    } else {
        MOST.copysign(x)
    }
}

impl One {
    #[inline]
    fn of(self, x: f64) -> f64 {
        match self {
            // No zero has a sign: x / 0 has the sign of x.
            One::Negate => 0.0 - x,
            One::Exp if x < -LARGEST_EXPONENT => 0.0,
            One::Exp if x > LARGEST_EXPONENT => MOST,
            One::Exp => bounded(libm::exp(x)),
            // The root of a negative number is no number.
            One::Sqrt => bounded(x.sqrt()),
        }
    }
}

impl Two {
    #[inline]
    fn of(self, x: f64, y: f64) -> f64 {
        match self {
            Two::Add => bounded(x + y),
            Two::Subtract => bounded(x - y),
            Two::Multiply => bounded(x * y),
            Two::Divide => bounded(x / y),
            Two::Less => f64::from(u8::from(x < y)),
            Two::Min => x.min(y),
            Two::Max => x.max(y),
        }
    }
}

/// An expression, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    steps: Vec<Step>,
    stack: Vec<f64>,
}

impl Program {
    /// Parses `text`, an expression of `names`.
    ///
    /// # Errors
    /// Where it is wrong, and what may stand there.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, Fault> {
        let mut parser = Parser { text: text.as_bytes(), at: 0, names, steps: Vec::new(), operations: 0, depth: 0 };
        parser.comparison()?;
        if let Some(byte) = parser.peek() {
            return Err(parser.fault(format!("{} where an operator may stand", shown(byte))));
        }
        let (mut height, mut most) = (0_usize, 0);
        for step in &parser.steps {
            match step {
                Step::Number(_) | Step::Input(_) => height += 1,
                Step::One(_) => {}
                Step::Two(_) => height -= 1,
            }
            most = most.max(height);
        }
        Ok(Program { steps: parser.steps, stack: vec![0.0; most] })
    }

    /// The value for `inputs`, in the order of the names.
    #[inline]
    pub fn run(&mut self, inputs: &[f64]) -> f64 {
        // Places of the stack that are used; the last of them is on top.
        let mut height = 0;
        for step in &self.steps {
            match *step {
                Step::Number(x) => {
                    self.stack[height] = x;
                    height += 1;
                }
                Step::Input(index) => {
                    self.stack[height] = bounded(inputs[index]);
                    height += 1;
                }
                Step::One(one) => self.stack[height - 1] = one.of(self.stack[height - 1]),
                Step::Two(two) => {
                    height -= 1;
                    self.stack[height - 1] = two.of(self.stack[height - 1], self.stack[height]);
                }
            }
        }
        self.stack[0]
    }

    /// Steps that [`Program::run`] takes, whatever the inputs.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The character at fault, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.column, self.message)
    }
}

fn shown(byte: u8) -> String {
    format!("{:?}", char::from(byte))
}

/// A parser by recursive descent; each rule appends the steps of what it reads.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    names: &'a [&'a str],
    steps: Vec<Step>,
    operations: usize,
    depth: usize,
}

type Parsed = Result<(), Fault>;

impl Parser<'_> {
    fn fault(&self, message: String) -> Fault {
        self.fault_at(self.at, message)
    }

    fn fault_at(&self, at: usize, message: String) -> Fault {
        Fault { column: at + 1, message }
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// The next character, if it is one of `wanted`, which is read.
    fn next_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let found = self.peek().filter(|byte| wanted.contains(byte))?;
        self.at += 1;
        Some(found)
    }

    fn expect(&mut self, wanted: u8) -> Parsed {
        match self.next_of(&[wanted]) {
            Some(_) => Ok(()),
            None => Err(self.fault(format!("{} is missing", shown(wanted)))),
        }
    }

    fn operation(&mut self, at: usize, step: Step) -> Parsed {
        self.operations += 1;
        if self.operations > OPERATIONS {
            return Err(self.fault_at(at, format!("more than {OPERATIONS} operations")));
        }
        self.steps.push(step);
        Ok(())
    }

    /// What `rule` reads, one level deeper.
    fn nested(&mut self, rule: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > NESTED {
            return Err(self.fault(format!("more than {NESTED} brackets, functions and signs within one another")));
        }
        rule(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// `sum` or `sum < sum`.
    fn comparison(&mut self) -> Parsed {
        self.sum()?;
        if self.next_of(b"<").is_none() {
            return Ok(());
        }
        let at = self.at - 1;
        self.sum()?;
        self.operation(at, Step::Two(Two::Less))?;
        match self.peek() {
            Some(b'<') => Err(self.fault("a second '<' needs brackets round the first".to_string())),
            _ => Ok(()),
        }
    }

    fn sum(&mut self) -> Parsed {
        self.product()?;
        while let Some(sign) = self.next_of(b"+-") {
            let at = self.at - 1;
            self.product()?;
            self.operation(at, Step::Two(if sign == b'+' { Two::Add } else { Two::Subtract }))?;
        }
        Ok(())
    }

    fn product(&mut self) -> Parsed {
        self.factor()?;
        while let Some(sign) = self.next_of(b"*/") {
            let at = self.at - 1;
            self.factor()?;
            self.operation(at, Step::Two(if sign == b'*' { Two::Multiply } else { Two::Divide }))?;
        }
        Ok(())
    }

    fn factor(&mut self) -> Parsed {
        match self.peek() {
            Some(b'-') => {
                let at = self.at;
                self.at += 1;
                self.nested(Self::factor)?;
                self.operation(at, Step::One(One::Negate))
            }
            Some(b'(') => {
                self.at += 1;
                self.nested(Self::comparison)?;
                self.expect(b')')
            }
            Some(b'0'..=b'9' | b'.') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.name(),
            Some(byte) => Err(self.fault(format!("{} where a number, a name or a bracket must stand", shown(byte)))),
            None => Err(self.fault("ends where a number, a name or a bracket must stand".to_string())),
        }
    }

    fn word(&self, from: usize, part: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text[from..];
        from + rest.iter().position(|&byte| !part(byte)).unwrap_or(rest.len())
    }

    fn read(&self, from: usize, to: usize) -> &str {
        std::str::from_utf8(&self.text[from..to]).unwrap_or("")
    }

    fn number(&mut self) -> Parsed {
        let from = self.at;
        let mut to = self.word(from, |byte| byte.is_ascii_digit() || byte == b'.');
        if matches!(self.text.get(to), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.text.get(to + 1), Some(b'+' | b'-')));
            let digits = to + 1 + sign;
            if self.text.get(digits).is_some_and(u8::is_ascii_digit) {
                to = self.word(digits, |byte| byte.is_ascii_digit());
            }
        }
        let text = self.read(from, to);
        let number: f64 = text.parse().map_err(|_| self.fault(format!("{text} is no number")))?;
        self.steps.push(Step::Number(bounded(number)));
        self.at = to;
        Ok(())
    }

    fn name(&mut self) -> Parsed {
        let from = self.at;
        let to = self.word(from, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = self.read(from, to);
        let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
        if let Some(index) = self.names.iter().position(|known| *known == name) {
            self.steps.push(Step::Input(index));
            self.at = to;
            return Ok(());
        }
        let Some(&(_, step)) = function else { return Err(self.fault(format!("{name} is unknown"))) };
        self.at = to;
        self.expect(b'(')?;
        self.nested(|parser| {
            parser.comparison()?;
            if let Step::Two(_) = step {
                parser.expect(b',')?;
                parser.comparison()?;
            }
            Ok(())
        })?;
        self.expect(b')')?;
        self.operation(from, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Program::parse(text, &["q", "p"]).unwrap_or_else(|fault| panic!("{text}: {fault}")).run(&[3.0, 0.25])
    }

    fn fault(text: &str) -> String {
        Program::parse(text, &["q", "p"]).expect_err(text).to_string()
    }

    #[test]
    fn precedence_is_the_usual_one_and_equals_group_to_the_left() {
        for (text, wanted) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 - 3 - 2", 3.0),
            ("8 / 4 / 2", 1.0),
            ("2 - -3", 5.0),
            ("-q * 2", -6.0),
            ("--q", 3.0),
            ("1 < 2 + 3", 1.0),
            ("5 < 2 + 3", 0.0),
            ("2 * (q < 4)", 2.0),
            ("(1 < 2) < 2", 1.0),
            ("min(q, 2) + max(q, 4)", 6.0),
            ("sqrt(p) + exp(0)", 1.5),
            ("1.5e1 + .5 + 2E-1 + 1.", 16.7),
            (" q ", 3.0),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
        assert_eq!(value("exp(1)"), libm::exp(1.0));
    }

    #[test]
    fn what_is_no_number_is_0_and_magnitudes_are_bounded() {
        for (text, wanted) in [
            ("0 / 0", 0.0),
            ("sqrt(-1)", 0.0),
            ("1 / 0", MOST),
            ("-1 / 0", -MOST),
            ("1 / (0 * -1)", MOST),
            ("1 / -0", MOST),
            ("1 / min(0, -0)", MOST),
            ("1e999 - 1e999", 0.0),
            ("1e150 * 1e150", MOST),
            ("-1e150 - 1e150", -MOST),
            ("1e-151", 0.0),
            ("1e-150", LEAST),
            ("1e-100 * 1e-100", 0.0),
            ("exp(-346)", 0.0),
            ("exp(-345) < 1e-149", 1.0),
            ("0 < exp(-345)", 1.0),
            ("exp(345.5)", MOST),
            ("exp(1e150)", MOST),
            ("0 * (1 / 0)", 0.0),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
        let mut same = Program::parse("q", &["q"]).unwrap();
        for (given, wanted) in [(f64::NAN, 0.0), (f64::INFINITY, MOST), (-f64::INFINITY, -MOST), (5e-324, 0.0)] {
            assert_eq!(same.run(&[given]), wanted, "{given}");
        }
    }

    #[test]
    fn a_fault_has_its_place() {
        for (text, wanted) in [
            ("", "character 1: ends where a number, a name or a bracket must stand"),
            ("q +", "character 4: ends where a number, a name or a bracket must stand"),
            ("q +* 2", "character 4: '*' where a number, a name or a bracket must stand"),
            ("q 2", "character 3: '2' where an operator may stand"),
            ("2q", "character 2: 'q' where an operator may stand"),
            ("(q", "character 3: ')' is missing"),
            ("q)", "character 2: ')' where an operator may stand"),
            ("min(q)", "character 6: ',' is missing"),
            ("exp(q, p)", "character 6: ')' is missing"),
            ("exp q", "character 5: '(' is missing"),
            ("1.2.3", "character 1: 1.2.3 is no number"),
            (".", "character 1: . is no number"),
            ("2e", "character 2: 'e' where an operator may stand"),
            ("1 < q < 2", "character 7: a second '<' needs brackets round the first"),
            ("q ^ 2", "character 3: '^' where an operator may stand"),
            ("q; p", "character 2: ';' where an operator may stand"),
        ] {
            assert_eq!(fault(text), wanted, "{text}");
        }
        assert_eq!(fault("q + avge"), "character 5: avge is unknown");
        assert!(fault("q + \u{e9}").starts_with("character 5: "));
    }

    #[test]
    fn operations_and_nesting_end_at_their_ceilings() {
        let sum = |operations: usize| format!("1{}", "+1".repeat(operations));
        assert_eq!(value(&sum(OPERATIONS)), 65.0);
        assert_eq!(fault(&sum(OPERATIONS + 1)), "character 130: more than 64 operations");
        let brackets = |n: usize| format!("{}q{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(value(&brackets(NESTED)), 3.0);
        let said = "character 34: more than 32 brackets, functions and signs within one another";
        assert_eq!(fault(&brackets(NESTED + 1)), said);
        assert!(fault(&"(".repeat(100_000)).starts_with("character 34: "));
        assert!(fault(&"-".repeat(100_000)).starts_with("character 34: "));
        // Brackets one after the other are not within one another.
        assert_eq!(value(&format!("0{}", "+(q)".repeat(40))), 120.0);
        assert_eq!(Program::parse(&sum(OPERATIONS), &[]).unwrap().steps(), 2 * OPERATIONS + 1);
    }
}
