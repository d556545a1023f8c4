"""The chat page: conversations, transcript, messages, composer, parameters."""
