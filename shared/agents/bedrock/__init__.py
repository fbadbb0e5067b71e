"""A model on Amazon Bedrock."""
