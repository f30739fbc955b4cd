package catalog

// Limits are how much is read of what others wrote. What is larger is refused, with a message that tells the limit.
type Limits struct {
	// Image is how many bytes an image may have, packed as well as unpacked.
	Image int64

	// Catalog is how many bytes the file-based catalog in an image may have.
	Catalog int64

	// CatalogFile is how many bytes one file of it may have.
	CatalogFile int64

	// CatalogFiles is how many files it may have.
	CatalogFiles int

	// Kept is how many bytes of what a catalog says are kept in memory, which is all of it but the objects.
	Kept int64

	// Bundle is how many bytes all files of a bundle image may have, unpacked, and all objects of a bundle.
	Bundle int64

	// BundleFiles is how many files a bundle image may have.
	BundleFiles int
}

// DefaultLimits are above what public catalogs need, and below what a manager can bear.
var DefaultLimits = Limits{
	Image:        2 << 30,
	Catalog:      512 << 20,
	CatalogFile:  64 << 20,
	CatalogFiles: 20000,
	Kept:         32 << 20,
	Bundle:       10 << 20,
	BundleFiles:  1000,
}
