"""The ports on DynamoDB, SQS, SSM and Bedrock: the only package that imports boto3."""
