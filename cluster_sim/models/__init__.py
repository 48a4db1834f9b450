"""The laws, pure: how tasks slow each other, what processors draw, what networks delay; and what follows from them."""
