"""The pager: reads long outputs, however long, without holding them in memory."""
