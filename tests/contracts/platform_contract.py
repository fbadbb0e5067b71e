"""What every chat platform must do, whichever it is, against the simulator and through its real SDK."""

from tests.contracts.platform_contract_diagnosis import Diagnoses
from tests.contracts.platform_contract_faults import Faults
from tests.contracts.platform_contract_inbound import Inbounds
from tests.contracts.platform_contract_outbound import Outbound
from tests.contracts.platform_contract_rendering import Rendering


class PlatformContract(Outbound, Faults, Rendering, Inbounds, Diagnoses):
    """All of it. A subclass names the platform and its homes."""
