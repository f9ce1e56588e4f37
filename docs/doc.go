// Package docs holds the pages against the program: only its tests have code.
package docs
