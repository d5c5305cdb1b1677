//! JSON with places: every value and every key knows the byte at which it begins, and keys that come twice are
//! all there.

/// Objects and arrays in one another; a `config_db.json` has three.
const DEPTH: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Byte at which it begins.
    pub at: usize,
    pub value: Value,
}

/// The kind and content of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    Array(Vec<Node>),
    /// In the order of the file, keys that come twice among them.
    Object(Vec<Member>),
}

/// A key of an object, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    /// Byte at which the key begins.
    pub at: usize,
    pub key: String,
    pub node: Node,
}

impl Value {
    /// Its kind, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// A syntax error.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mistake {
    /// Byte at which it is.
    pub at: usize,
    pub found: String,
    pub expected: &'static str,
}

/// Reads a text of JSON.
pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let mut parser = Parser {
        text,
        // Some editors write a mark first.
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
    };
    parser.space();
    let node = parser.value(0)?;
    parser.space();
    if parser.at == text.len() {
        Ok(node)
    } else {
        Err(parser.mistake("the end of the file: it is one object"))
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The error that something else stands here than expected.
    fn mistake(&self, expected: &'static str) -> Mistake {
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the file".to_owned(),
            Some(c) => format!("`{}`", c.escape_debug()),
        };
        Mistake {
            at: self.at,
            found,
            expected,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Mistake> {
        let at = self.at;
        if depth > DEPTH {
            return Err(Mistake {
                at,
                found: format!("more than {DEPTH} objects in one another"),
                expected: "tables, keys and fields",
            });
        }
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::Text(self.text()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            _ => {
                return Err(
                    self.mistake("a value: text in \"\", an object in {} or an array in []")
                );
            }
        };
        Ok(Node { at, value })
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Mistake> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.mistake("a value; text stands in \"\""))
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Mistake> {
        let mut members = Vec::new();
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            let at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.mistake(match self.peek() {
                    Some(b'}') => "a key, or no comma before it",
                    _ => "a key in double quotes",
                }));
            }
            let key = self.text()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.mistake("`:` and the key's value"));
            }
            self.at += 1;
            self.space();
            let node = self.value(depth + 1)?;
            members.push(Member { at, key, node });
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Object(members));
                }
                _ => return Err(self.mistake("`,` and the next key, or `}`")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Mistake> {
        let mut nodes = Vec::new();
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(nodes));
        }
        loop {
            self.space();
            nodes.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(nodes));
                }
                _ => return Err(self.mistake("`,` and the next value, or `]`")),
            }
        }
    }

    fn number(&mut self) -> Result<Value, Mistake> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.peek();
        if self.digits()? > 1 && first == Some(b'0') {
            self.at = start;
            return Err(self.mistake("a number without a zero in front"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    fn digits(&mut self) -> Result<usize, Mistake> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.mistake("a digit")),
            number => Ok(number),
        }
    }

    fn text(&mut self) -> Result<String, Mistake> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(Mistake {
                    at: start,
                    found: "text that does not end".into(),
                    expected: "a closing \"",
                });
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(text);
                }
                '\\' => text.push(self.escape()?),
                '\n' | '\r' => {
                    return Err(Mistake {
                        at: start,
                        found: "text that does not end on its line".into(),
                        expected: "a closing \"",
                    });
                }
                c if c < ' ' => return Err(self.mistake("a character, not a control code")),
                c => {
                    self.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Mistake> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return Err(self.mistake("one of \" \\ / b f n r t u after \\")),
        };
        self.at += 1;
        Ok(c)
    }

    /// A code point of four digits, or two halves of one.
    fn unicode(&mut self, start: usize) -> Result<char, Mistake> {
        let first = self.unit()?;
        let code = match first {
            0xd800..=0xdbff if self.text[self.at..].starts_with("\\u") => {
                self.at += 2;
                let second = self.unit()?;
                match second {
                    0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => first,
                }
            }
            _ => first,
        };
        char::from_u32(code).ok_or(Mistake {
            at: start,
            found: "half a character".into(),
            expected: "both halves of a pair of \\u",
        })
    }

    fn unit(&mut self) -> Result<u32, Mistake> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.mistake("four hexadecimal digits after \\u"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let node = parse(
            "\u{feff}{\"a\": [1, -2.5e3, true, null],\n \"a\": \"\\u00e9\\ud83d\\ude00\\n\"}",
        )
        .unwrap();
        let Value::Object(members) = node.value else {
            panic!("it is an object");
        };
        assert_eq!((members[0].at, members[0].node.at), (4, 9));
        assert_eq!(members[1].key, "a");
        assert_eq!(members[1].node.value, Value::Text("é😀\n".into()));
        let Value::Array(nodes) = &members[0].node.value else {
            panic!("it is an array");
        };
        assert_eq!(nodes[1].value, Value::Number("-2.5e3".into()));
        assert_eq!(nodes[3].value.kind(), "null");
    }

    #[test]
    fn what_is_no_json_has_a_place() {
        let at = |text: &str| parse(text).unwrap_err();
        for (text, place) in [
            ("", 0),
            ("{", 1),
            ("{\"a\": 1,}", 8),
            ("{\"a\" 1}", 5),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("{\"a\": 01}", 6),
            ("{\"a\": 1.}", 8),
            ("{\"a\": tru}", 6),
            ("{\"a\": \"b\n\"}", 6),
            ("{\"a\": \"\\x\"}", 8),
            ("{\"a\": \"\\ud800\"}", 7),
            ("{\"a\": [1 2]}", 9),
            ("{} {}", 3),
            ("{'a': 1}", 1),
        ] {
            assert_eq!(at(text).at, place, "{text}: {:?}", at(text));
        }
        assert_eq!(at(&"[".repeat(100_000)).at, DEPTH + 1);
        let expected = |text: &str| at(text).expected;
        assert_eq!(expected("{\"a\": 1,}"), "a key, or no comma before it");
        assert_eq!(expected("{'a': 1}"), "a key in double quotes");
    }
}
