"""Prices of AWS. US dollars in us-east-1; looked up in November 2026, not checked live by any command."""

AS_OF = "2026-11"
REGION = "us-east-1"

MILLION = 1_000_000
LAMBDA_GB_SECOND = 0.0000133334  # arm64
LAMBDA_REQUEST = 0.20 / MILLION
HTTP_API_REQUEST = 1.00 / MILLION
WRITE_UNIT = 0.625 / MILLION  # on demand
READ_UNIT = 0.125 / MILLION
QUEUE_REQUEST = 0.50 / MILLION
SCHEDULE = 1.00 / MILLION
ALARM_METRIC = 0.10  # a month
DASHBOARD = 3.00  # a month
KMS_REQUEST = 0.03 / 10_000
LOG_GB = 0.50
SNAPSHOT_GB_SECOND = 0.0000015046  # SnapStart keeps a snapshot of the function's whole memory
