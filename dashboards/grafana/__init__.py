"""The dashboards in a Grafana: compared, applied, written as files for provisioning."""
