"""One interior path over all rules of an instance, its algebra chosen by their structure."""
