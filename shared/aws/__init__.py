"""The ports on DynamoDB, SQS and SSM: the only place that knows boto3."""
