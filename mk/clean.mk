# Removal of what was built.

##@ Clean
## clean: remove this configuration's build
.PHONY: clean
clean:
	rm -rf $(OUT)

## dist-clean: remove everything that was built
.PHONY: dist-clean
dist-clean:
	rm -rf $(BUILD)
