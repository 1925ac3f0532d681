"""What the use cases need from outside. Ports import the domain only and hold no behaviour."""
