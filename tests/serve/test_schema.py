"""Every answer of the server conforms to its OpenAPI schema, whatever the request."""

from __future__ import annotations

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from served import StandIn, service_of

from anyner.serve.app import create_app
from anyner.serve.settings import ServeSettings

schemathesis.serializer.alias("application/x-ndjson", "text/plain")


def app() -> FastAPI:
    service = service_of(StandIn(), ServeSettings())
    return create_app(service, service.settings)


schema = schemathesis.openapi.from_asgi("/openapi.json", app())


@schema.parametrize()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_fits_the_schema(case: schemathesis.Case) -> None:
    """A schema cannot say which labels a model has, so valid requests may be refused: that one check is left out."""
    case.call_and_validate(excluded_checks=[positive_data_acceptance])
