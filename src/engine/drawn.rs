//! Rows of a batch on their way to the tables.

use crate::failure::{Failure, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;

/// Rows as a study has them in memory.
pub trait Held: Any + Send {
    /// The bytes of the rows in memory, roughly.
    fn bytes(&self) -> usize;
    /// The rows in the encoding in which a journal keeps them.
    fn encode(&self) -> Vec<u8>;
}

/// Rows of a batch: encoded only if a journal has had them, or the study leaves them so.
pub enum Drawn {
    /// Rows in postcard's encoding.
    Encoded(Vec<u8>),
    /// Rows in memory.
    Held(Box<dyn Held>),
}

impl Drawn {
    /// Rows that are computed together: all, or none.
    pub fn all<T: Serialize>(rows: crate::Result<Vec<T>>) -> (Self, crate::Result<()>) {
        let (rows, drawn) = match rows {
            Ok(rows) => (encode(&rows), Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        (Self::Encoded(rows), drawn)
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Encoded(bytes) => bytes.len(),
            Self::Held(rows) => rows.bytes(),
        }
    }

    /// The rows as a journal keeps them.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Encoded(bytes) => bytes.clone(),
            Self::Held(rows) => rows.encode(),
        }
    }

    /// Looks at the rows. Errors: as [`Drawn::take`].
    pub fn look<T: DeserializeOwned + 'static, O>(&self, look: impl FnOnce(&T) -> O) -> Result<O> {
        match self {
            Self::Encoded(bytes) => Ok(look(&decode(bytes)?)),
            Self::Held(rows) => {
                let rows: &dyn Any = &**rows;
                Ok(look(rows.downcast_ref().expect("a study takes what it has left")))
            }
        }
    }

    /// The rows. Errors: bytes that are none, which a journal's checksum has ruled out.
    pub fn take<T: DeserializeOwned + 'static>(self) -> Result<T> {
        match self {
            Self::Encoded(bytes) => decode(&bytes),
            Self::Held(rows) => {
                let rows: Box<dyn Any> = rows;
                Ok(*rows.downcast().expect("a study takes what it has left"))
            }
        }
    }
}

/// Rows in postcard's encoding.
pub fn encode(rows: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(rows).expect("writing to memory")
}

/// Reads them back. Errors: bytes that are none.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|e| Failure::Wrong(format!("rows cannot be decoded: {e}")))
}
