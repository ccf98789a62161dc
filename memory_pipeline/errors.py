"""What can go wrong, as one tree. Every message is a sentence for people: what was wrong, where, what to do.

MemoryPipelineError
├─ SettingsError         a setting has a value that cannot be used; names the variable
├─ InputError            a folder or file of the user's cannot be used
│  └─ NotASession        the file is no pi session; costs that file only
├─ StoreError            the store cannot be opened, read or written
│  └─ EmbeddingMismatch  vectors of another model or length than the index holds
└─ ModelError
   ├─ ModelOutage        no answer: refused, timed out, 429 or 5xx after retries; worth trying again later
   ├─ ModelRefused       the server said no to this request (4xx): wrong model name, wrong key, bad input
   │  ├─ InputTooLong    the request holds more tokens than the model's context
   │  └─ KeyRefused      nobody is let in with this key, or without one
   ├─ ModelAnswerError   it answered, but not with what was asked for; costs that input only
   └─ ModelFileError     a model file is missing, cut short or not what was pinned
"""


class MemoryPipelineError(Exception):
    """Base of all errors this package raises on purpose; ``str()`` is the sentence to show."""


class SettingsError(MemoryPipelineError):
    """A setting cannot be used; the message names the environment variable."""


class InputError(MemoryPipelineError):
    """A folder or file given by the user cannot be used."""


class NotASession(InputError):
    """The file is not a pi session; the message says what it is instead, where that is known."""


class StoreError(MemoryPipelineError):
    """The store cannot be opened, read or written."""


class EmbeddingMismatch(StoreError):
    """Vectors of another model or length than those the index was made for."""


class ModelError(MemoryPipelineError):
    """Base of what model servers and model files do wrong."""


class ModelOutage(ModelError):
    """The server gave no usable answer, after retries; trying again later may help."""


class ModelRefused(ModelError):
    """The server refused this request; sending it again as it is does not help."""


class InputTooLong(ModelRefused):
    """The request holds more tokens than the model's context."""


class KeyRefused(ModelRefused):
    """The server lets nobody in with this key, or without one."""


class ModelAnswerError(ModelError):
    """The model answered, but not with what was asked for."""


class ModelFileError(ModelError):
    """A model file is missing, cut short, or not the one that was pinned."""
