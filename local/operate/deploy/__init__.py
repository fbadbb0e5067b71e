"""`handoff deploy` and `handoff destroy`: the template as a stack on AWS, with boto3 and nothing else."""
